extension NodeBuilder {
  /// The kinds of keys an object has had.
  struct Names: OptionSet {
    let rawValue: UInt8
    static let child = Names(rawValue: 1)
    static let value = Names(rawValue: 2)
    static let priority = Names(rawValue: 4)
    static let serverValue = Names(rawValue: 8)
  }

  /// What the next value is for.
  enum Slot {
    case child(Key)
    case value, priority, serverValue
  }

  /// An open container.
  struct Frame {
    let isArray: Bool
    /// The number of keys down to here, and their UTF-8 bytes with a slash before each; nil inside
    /// metadata, which has no path.
    let extent: (keys: Int, bytes: Int)?
    /// In an array, the index of the next element.
    var nextIndex = 0
    /// In an object, what the last key announced.
    var slot = Slot.value
    var names: Names = []
    /// The finished children that have not been drained; empty ones too, since of keys that repeat
    /// the last one counts.
    var children: [Node.Child] = []
    /// Whether the children's keys ascend, and whether none is empty.
    var isSorted = true
    var isFull = true
    var cost = 0
    var value: Leaf?
    var priority: Priority?
    var serverValue: ServerValue?
    /// Whether children were drained, so that no node can be made of this frame.
    var isDrained = false

    init(isArray: Bool, extent: (keys: Int, bytes: Int)?) {
      self.isArray = isArray
      self.extent = extent
    }

    mutating func add(_ child: Node.Child, _ cost: Int) {
      if let last = children.last, Key.compare(last.key, child.key) >= 0 { isSorted = false }
      if child.node.isEmpty { isFull = false }
      children.append(child)
      self.cost += cost
    }

    /// The node of a container that has not been drained.
    consuming func node() -> Node {
      // Objects are mostly small, and sorting nearly sorted ones costs little more than a copy.
      if !isSorted, children.count <= 16 {
        isSorted = true
        for index in 1..<children.count {
          var place = index
          while place > 0 {
            let order = Key.compare(children[place - 1].key, children[place].key)
            if order == 0 { isSorted = false }
            if order <= 0 { break }
            children.swapAt(place - 1, place)
            place -= 1
          }
        }
      }
      if isSorted, isFull { return Node(sortedChildren: children, priority: priority) }
      return Node(children: children.lazy.map { ($0.key, $0.node) }, priority: priority)
    }

    /// The key of the child that is being read; nil while a metadata value is.
    var currentKey: Key? {
      if isArray { return Key(nextIndex) }
      if case .child(let key) = slot { return key }
      return nil
    }
  }

  /// Opens the place that a key of an object announces.
  mutating func take(key name: String) throws(TreeError) {
    let top = stack.count - 1
    guard top >= 0 else { return }
    let kind: Names
    if name.utf8.first == UInt8(ascii: ".") {
      switch name {
      case ".value": (stack[top].slot, kind) = (.value, .value)
      case ".priority": (stack[top].slot, kind) = (.priority, .priority)
      case ".sv": (stack[top].slot, kind) = (.serverValue, .serverValue)
      default:
        throw refused(
          .invalidKey,
          "the key \"\(name.prefix(80))\" starts with a dot but is not \".value\", "
            + "\".priority\" or \".sv\"; rename it")
      }
    } else {
      let key = Key(name)
      if name.isEmpty { throw refused(.invalidKey, "a key is empty; give it a name") }
      (stack[top].slot, kind) = (.child(key), .child)
      if isValidating { try validate(key) }
    }
    stack[top].names.insert(kind)
    let names = stack[top].names
    if names.contains(.serverValue), names != .serverValue {
      throw refused(
        .invalidServerValue,
        "\".sv\" has siblings; remove them, and put a priority beside "
          + "{\".value\": {\".sv\": …}}")
    }
    if names.contains([.value, .child]) {
      throw refused(
        .invalidValue, "\".value\" has children beside it; keep either the value or the children")
    }
  }

  /// Opens a container where the innermost one wants a value.
  mutating func open(isArray: Bool) {
    var extent: (keys: Int, bytes: Int)?
    if let top = stack.indices.last {
      if let key = stack[top].currentKey, let above = stack[top].extent {
        extent = (above.keys + 1, above.bytes + 1 + key.utf8Count)
      }
    } else {
      extent = (root.count, root.keys.reduce(0) { $0 + 1 + $1.utf8Count })
    }
    stack.append(Frame(isArray: isArray, extent: extent))
  }

  /// Checks a child of the innermost container by the rules for what an app writes.
  func validate(_ key: Key) throws(TreeError) {
    guard let extent = stack.last?.extent else { return }
    try key.validate()
    if extent.keys + 1 > Path.deepest {
      throw refused(
        .pathTooDeep, "the path has more than \(Path.deepest) keys; nest the data less deeply")
    }
    if extent.bytes + 1 + key.utf8Count > Key.longest {
      throw refused(
        .pathTooLong, "the path is longer than \(Key.longest) UTF-8 bytes; use shorter keys")
    }
  }

  /// The server value that the value of a `.sv` names.
  func serverValue(_ node: Node) throws(TreeError) -> ServerValue {
    if node.priority == nil {
      switch node.leaf {
      case .string("timestamp")?: return .timestamp
      case .string(let name)?: return .other(name: name)
      case nil where node.childCount == 1:
        let delta = node[Key("increment")]
        if let leaf = delta.leaf, leaf.number != nil, delta.priority == nil {
          return .increment(leaf)
        }
      default: break
      }
    }
    throw refused(
      .invalidServerValue,
      "\".sv\" must be \"timestamp\" or {\"increment\": number}; write one of them")
  }

  /// The place of what the outer `depth` containers are reading.
  func path(of depth: Int) -> Path {
    Path(root.keys + stack.prefix(depth).compactMap(\.currentKey))
  }

  /// An error at the place that is being read.
  func refused(_ code: TreeError.Code, _ message: String) -> TreeError {
    TreeError(code, "\(path(of: stack.count)): \(message)")
  }
}
