public import ConiferTree

/// The order of a query's children, which is by priority, key, value, or a path below each child.
public enum QueryIndex: Sendable, Hashable {
  /// The children's priorities; without priorities the order of keys. The default.
  case priority
  /// The keys.
  case key
  /// The children's own values.
  case value
  /// The values at a path below each child.
  case child(Path)

  /// The value by which the index sorts a child; empty when the child has none.
  ///
  /// The key index sorts by keys only, and returns the key as a string.
  /// - Parameters:
  ///   - key: The child's key.
  ///   - node: The child.
  /// - Returns: The value, compared by the value order of the Realtime Database.
  public func value(of key: Key, _ node: Node) -> Node {
    switch self {
    case .priority: node[.priority]
    case .key: Node(.string(key.string))
    case .value: node
    case .child(let path): node[path]
    }
  }

  /// Orders two children by their values, then by their keys: negative, zero or positive.
  /// - Parameters:
  ///   - a: A child.
  ///   - b: Another child.
  public func compare(_ a: Node.Child, _ b: Node.Child) -> Int {
    if self != .key {
      let order = Node.compareValues(value(of: a.key, a.node), value(of: b.key, b.node))
      if order != 0 { return order }
    }
    return Key.compare(a.key, b.key)
  }
}

extension QueryIndex: CustomStringConvertible {
  /// The index as the protocol of the Realtime Database names it, such as `.key` or `a/b`.
  public var description: String {
    switch self {
    case .priority: ".priority"
    case .key: ".key"
    case .value: ".value"
    case .child(let path): String(path.description.dropFirst())
    }
  }
}
