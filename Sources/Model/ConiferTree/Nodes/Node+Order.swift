extension Node: Hashable {
  /// Whether both hold the same data: keys by UTF-8 bytes, numbers as doubles, priorities too.
  ///
  /// Shared subtrees are recognised without a look inside.
  public static func == (a: Node, b: Node) -> Bool {
    var pending = [(a, b)]
    while let (a, b) = pending.popLast() {
      switch (a.form, b.form) {
      case (.interior(let x), .interior(let y)):
        if x === y { continue }
        guard x.priority == y.priority, x.root === y.root || x.root.totals == y.root.totals
        else { return false }
        if x.root === y.root { continue }
        for (_, old, new) in a.changes(since: b) {
          if new.interior != nil, old.interior != nil {
            pending.append((old, new))
          } else if old.leaf != new.leaf || old.priority != new.priority
            || (old.interior == nil) != (new.interior == nil)
          {
            return false
          }
        }
      default:
        guard a.isEmpty == b.isEmpty, a.leaf == b.leaf, a.priority == b.priority,
          (a.interior == nil) == (b.interior == nil)
        else { return false }
      }
    }
    return true
  }

  /// Feeds the shape, all keys, leaves and priorities.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(leafCount)
    hasher.combine(priority)
    forEachLeaf { keys, leaf, priority in
      hasher.combine(keys.count)
      hasher.combine(keys.last)
      hasher.combine(leaf)
      hasher.combine(priority)
    }
  }

  /// Orders the values of two nodes: negative, zero or positive.
  ///
  /// Empty, server values, booleans, numbers, strings, then interior nodes, all of which are
  /// equal, as the Realtime Database orders values. Priorities do not count; ties are to be
  /// broken by key.
  public static func compareValues(_ a: Node, _ b: Node) -> Int {
    if let x = a.leaf, let y = b.leaf { return Leaf.compare(x, y) }
    return a.valueRank - b.valueRank
  }

  private var valueRank: Int {
    switch form {
    case .empty: return 0
    case .leaf, .prioritised: return 1
    case .interior: return 2
    }
  }

  /// Orders two children by priority, then by key: negative, zero or positive.
  public static func comparePriorities(_ a: Child, _ b: Child) -> Int {
    let order = Priority.compare(a.node.priority, b.node.priority)
    return order != 0 ? order : Key.compare(a.key, b.key)
  }
}

extension Node: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByDictionaryLiteral
{
  /// A text.
  public init(stringLiteral value: String) { self.init(.string(value)) }
  /// An integer.
  public init(integerLiteral value: Int64) { self.init(.integer(value)) }
  /// A double.
  public init(floatLiteral value: Double) { self.init(.double(value)) }
  /// True or false.
  public init(booleanLiteral value: Bool) { self.init(.bool(value)) }
  /// Children in any order; the key `.priority` sets the priority.
  public init(dictionaryLiteral elements: (Key, Node)...) { self.init(children: elements) }
}
