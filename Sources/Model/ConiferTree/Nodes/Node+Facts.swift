extension Node {
  /// Whether there is no data.
  public var isEmpty: Bool {
    if case .empty = form { return true }
    return false
  }

  /// Whether this is a value without children.
  public var isLeaf: Bool { leaf != nil }

  /// The value; none for empty and interior nodes.
  public var leaf: Leaf? {
    switch form {
    case .leaf(let leaf): return leaf
    case .prioritised(let box): return box.leaf
    case .empty, .interior: return nil
    }
  }

  /// The node's priority, if it has one.
  public var priority: Priority? {
    switch form {
    case .empty, .leaf: return nil
    case .prioritised(let box): return box.priority
    case .interior(let interior): return interior.priority
    }
  }

  /// The priority this node would be as the pseudo child `.priority`: a leaf that may be one and
  /// has none itself.
  var asPriority: Priority? {
    if case .leaf(let leaf) = form { return Priority(leaf) }
    return nil
  }

  /// The number of children; constant time.
  public var childCount: Int { interior?.root.totals.count ?? 0 }

  /// The number of leaves at any depth, this node included; constant time.
  public var leafCount: Int { interior?.root.totals.leaves ?? (isEmpty ? 0 : 1) }

  /// The levels of keys below: 0 for a leaf, 1 for a node of leaves; constant time.
  public var depth: Int { Int(interior?.root.totals.depth ?? 0) }

  /// Whether a value or a priority at any depth waits for the server; constant time.
  public var hasServerValues: Bool {
    if case .serverValue = priority?.leaf { return true }
    switch form {
    case .empty: return false
    case .interior(let interior): return interior.root.totals.hasServerValues
    case .leaf, .prioritised:
      if case .serverValue = leaf { return true }
      return false
    }
  }

  /// The size in bytes by the Realtime Database's estimate; constant time.
  ///
  /// Empty and booleans 4, numbers 8, strings 2 and their UTF-8 bytes, a leaf's priority 24 and
  /// its own size, an interior node 1 and for each child 4, the key's UTF-8 bytes and its size.
  public var estimatedSize: Int {
    switch form {
    case .empty: return 4
    case .leaf(let leaf): return leaf.estimatedSize
    case .prioritised(let box): return box.leaf.estimatedSize + 24 + box.priority.leaf.estimatedSize
    case .interior(let interior): return 1 + interior.root.totals.bytes
    }
  }

  /// Whether both are one and the same piece of memory, or the same bits: a cheap test that finds
  /// unchanged subtrees and never calls different nodes identical.
  public func isIdentical(to other: Node) -> Bool {
    switch (form, other.form) {
    case (.empty, .empty): return true
    case (.interior(let a), .interior(let b)): return a === b
    case (.leaf(let a), .leaf(let b)): return a.isExactly(b)
    case (.prioritised(let a), .prioritised(let b)):
      return a.leaf.isExactly(b.leaf) && a.priority.leaf.isExactly(b.priority.leaf)
    default: return false
    }
  }
}

extension Leaf {
  /// The size in bytes by the Realtime Database's estimate.
  var estimatedSize: Int {
    switch self {
    case .string(let text): return 2 + text.utf8.count
    case .integer, .double, .serverValue: return 8
    case .bool: return 4
    }
  }
}
