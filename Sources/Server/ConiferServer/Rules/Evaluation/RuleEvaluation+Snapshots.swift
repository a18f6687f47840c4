import ConiferTree

// The methods of places of data. Data is read when a method asks for it.
extension RuleEvaluation {
  mutating func call(
    _ method: SnapshotMethod, _ receiver: RuleExpression, _ arguments: [RuleExpression]
  ) throws(RuleFailure) -> RuleValue {
    guard case .snapshot(let place) = try value(receiver) else {
      throw .type("a value is not a snapshot")
    }
    let node = place.node
    switch method {
    case .val: return RuleValue(node)
    case .getPriority: return node.priority.map { RuleValue(Node($0.leaf)) } ?? .null
    case .exists: return .bool(!node.isEmpty)
    case .isNumber: return .bool(node.leaf?.number != nil)
    case .isString:
      if case .string? = node.leaf { return .bool(true) }
      return .bool(false)
    case .isBoolean:
      if case .bool? = node.leaf { return .bool(true) }
      return .bool(false)
    case .parent: return .snapshot(try parent(of: place))
    case .child:
      guard let argument = arguments.first else { return .null }
      return .snapshot(try child(try string(argument), of: place))
    case .hasChild:
      guard let argument = arguments.first else { return .null }
      return .bool(try !child(try string(argument), of: place).node.isEmpty)
    case .hasChildren: return .bool(try hasChildren(arguments, of: place))
    }
  }

  /// A place below. All names between slashes are keys, whatever characters they contain.
  private mutating func child(
    _ path: String, of place: RuleSnapshot
  ) throws(RuleFailure) -> RuleSnapshot {
    try charge(path.utf8.count >> 4)
    // Before any of its keys is made.
    try charge(path.utf8.count(where: { $0 == UInt8(ascii: "/") }) + 1)
    let keys = Path(path).keys
    var node = place.node
    for key in keys {
      if node.isEmpty { break }
      node = node.ruleChild(key)
    }
    return RuleSnapshot(tree: place.tree, keys: place.keys + keys, node: node)
  }

  private mutating func parent(of place: RuleSnapshot) throws(RuleFailure) -> RuleSnapshot {
    guard !place.keys.isEmpty else { throw .type("the root has no parent") }
    try charge(place.keys.count)
    let keys = Array(place.keys.dropLast())
    var node = place.tree
    for key in keys {
      if node.isEmpty { break }
      node = node.ruleChild(key)
    }
    return RuleSnapshot(tree: place.tree, keys: keys, node: node)
  }

  private mutating func hasChildren(
    _ names: [RuleExpression], of place: RuleSnapshot
  ) throws(RuleFailure) -> Bool {
    if names.isEmpty { return place.node.childCount > 0 }
    // The parser turns an empty array into this.
    if case .constant(.null)? = names.first { return true }
    var hasAll = true
    for name in names {
      if try child(try string(name), of: place).node.isEmpty { hasAll = false }
    }
    return hasAll
  }
}
