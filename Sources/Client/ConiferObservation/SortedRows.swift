import ConiferTree

/// The rows of a query of the tree, in its order. Only children that have changed are decoded, and they find their places by
/// halving; where many have changed, all are sorted.
struct SortedRows<Element: Sendable, Failure: Error> {
  /// What changes in the rows and in the faults that are shown.
  struct Changes {
    fileprivate var steps: [Step] = []
    /// The faults by key; nil for one that is gone.
    private(set) var faults: [String: Failure?] = [:]

    fileprivate enum Step {
      case all([ObservedRow<Element>])
      case remove(Int)
      case insert(ObservedRow<Element>, Int)
      case replace(ObservedRow<Element>, Int)
    }

    /// Whether other rows are shown then.
    var hasRows: Bool { !steps.isEmpty }

    /// Makes rows those that are to be shown.
    func apply(to rows: inout [ObservedRow<Element>]) {
      for step in steps {
        switch step {
        case .all(let all): rows = all
        case .remove(let position): rows.remove(at: position)
        case .insert(let row, let position): rows.insert(row, at: position)
        case .replace(let row, let position): rows[position] = row
        }
      }
    }

    fileprivate mutating func note(_ key: Key, _ fault: Failure?) {
      faults.updateValue(fault, forKey: key.string)
    }
  }

  /// What was taken last.
  private var node = Node()
  /// The children that have rows, in the rows' order.
  private var sorted: [Node.Child] = []
  /// The keys of those that could not be decoded.
  private var faulty: Set<Key> = []
  /// All are sorted when more than one in so many has changed,
  private static var rarity: Int { 32 }
  /// or more than so many: each that finds its place moves those behind it.
  private static var most: Int { 128 }

  /// Takes the children as they are now.
  ///
  /// - Parameters:
  ///   - rows: those that are shown.
  ///   - precedes: the query's order.
  ///   - decode: called for what is new or has changed.
  mutating func take(
    _ node: Node, _ rows: [ObservedRow<Element>],
    precedes: (Node.Child, Node.Child) -> Bool, decode: (Node.Child) throws(Failure) -> Element
  ) -> Changes {
    let changed = node.changes(since: self.node).filter { $0.old != $0.new }
    self.node = node
    var changes = Changes()
    guard !changed.isEmpty else { return changes }
    if changed.count > Self.most || changed.count * Self.rarity > node.childCount {
      takeAll(changed, rows, &changes, precedes, decode)
    } else {
      for (key, old, new) in changed { take(key, old, new, &changes, precedes, decode) }
    }
    return changes
  }

  private mutating func take(
    _ key: Key, _ old: Node, _ new: Node, _ changes: inout Changes,
    _ precedes: (Node.Child, Node.Child) -> Bool,
    _ decode: (Node.Child) throws(Failure) -> Element
  ) {
    var earlier: Int?
    if faulty.remove(key) != nil {
      changes.note(key, nil)
    } else if !old.isEmpty {
      let position = position(of: (key, old), precedes)
      if position < sorted.count, sorted[position].key == key {
        sorted.remove(at: position)
        earlier = position
      }
    }
    guard let row = row((key, new), &changes, decode) else {
      if let earlier { changes.steps.append(.remove(earlier)) }
      return
    }
    let position = position(of: (key, new), precedes)
    sorted.insert((key, new), at: position)
    if earlier == position { return changes.steps.append(.replace(row, position)) }
    if let earlier { changes.steps.append(.remove(earlier)) }
    changes.steps.append(.insert(row, position))
  }

  private mutating func takeAll(
    _ changed: [Node.Changes.Element], _ rows: [ObservedRow<Element>], _ changes: inout Changes,
    _ precedes: (Node.Child, Node.Child) -> Bool,
    _ decode: (Node.Child) throws(Failure) -> Element
  ) {
    var known = Dictionary(zip(sorted.map(\.key), rows)) { first, _ in first }
    for (key, _, _) in changed {
      known[key] = nil
      if faulty.remove(key) != nil { changes.note(key, nil) }
    }
    sorted = []
    var all: [ObservedRow<Element>] = []
    for child in node.children.sorted(by: precedes) where !faulty.contains(child.key) {
      guard let row = known[child.key] ?? row(child, &changes, decode) else { continue }
      sorted.append(child)
      all.append(row)
    }
    changes.steps = [.all(all)]
  }

  /// The row of a child; nil when there is none, as it is gone or cannot be decoded.
  private mutating func row(
    _ child: Node.Child, _ changes: inout Changes,
    _ decode: (Node.Child) throws(Failure) -> Element
  ) -> ObservedRow<Element>? {
    guard !child.node.isEmpty else { return nil }
    do throws(Failure) {
      return ObservedRow(id: child.key.string, value: try decode(child))
    } catch {
      faulty.insert(child.key)
      changes.note(child.key, error)
      return nil
    }
  }

  /// The first position whose child does not come before another one.
  private func position(
    of child: Node.Child, _ precedes: (Node.Child, Node.Child) -> Bool
  ) -> Int {
    var (low, high) = (0, sorted.count)
    while low < high {
      let middle = (low + high) / 2
      if precedes(sorted[middle], child) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
