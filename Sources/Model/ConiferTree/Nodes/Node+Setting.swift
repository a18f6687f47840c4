extension Node {
  /// The node with the data at a path replaced, as a write to the Realtime Database does it.
  ///
  /// Writing below a leaf makes it an interior node that keeps its priority. Empty data deletes; a
  /// node that loses its last child is removed with its priority; deleting below a leaf or below
  /// missing data changes nothing. A path that ends in `.priority` sets the priority; nothing
  /// changes when the node there is empty or the data is not a priority.
  ///
  /// - Parameters:
  ///   - path: the place, relative to this node.
  ///   - node: the new data with its priority; empty to delete.
  /// - Returns: the changed node; this very one when nothing changed.
  public func setting(_ path: Path, to node: Node) -> Node {
    guard !path.isRoot, !path.keys.dropLast().contains(where: \.isPriority) else {
      return path.isRoot ? node : self
    }
    var levels = [self]
    for key in path.keys.dropLast() { levels.append(levels[levels.count - 1][key]) }
    var value = node
    for (level, key) in zip(levels, path.keys).reversed() {
      value = level.setting(key, to: value)
    }
    return value
  }

  /// The node with one child replaced, by the rules of `setting(_:to:)` for paths.
  ///
  /// - Parameters:
  ///   - key: the child, or `.priority`.
  ///   - node: the child's new data with its priority; empty to delete.
  /// - Returns: the changed node; this very one when nothing changed.
  public func setting(_ key: Key, to node: Node) -> Node {
    if key.isPriority {
      if node.isEmpty { return settingPriority(nil) }
      return node.asPriority.map { settingPriority($0) } ?? self
    }
    guard let interior else {
      if node.isEmpty { return self }
      return Node(root: Chunk(entries: [(key: key, node: node)]), priority: priority)
    }
    let root = interior.root.setting(key, to: node)
    return root === interior.root ? self : Node(root: root, priority: interior.priority)
  }

  /// The node with another priority, or with none; the empty node stays empty.
  ///
  /// - Parameter priority: the new priority; none to remove it.
  /// - Returns: the changed node; this very one when nothing changed.
  public func settingPriority(_ priority: Priority?) -> Node {
    switch (self.priority, priority) {
    case (nil, nil): return self
    case (let old?, let new?) where old.leaf.isExactly(new.leaf): return self
    default: break
    }
    switch form {
    case .empty: return self
    case .leaf(let leaf): return Node(leaf, priority: priority)
    case .prioritised(let box): return Node(box.leaf, priority: priority)
    case .interior(let interior): return Node(root: interior.root, priority: priority)
    }
  }

  /// Walks all leaves in path order.
  ///
  /// - Parameter body: gets the keys from this node down to the leaf, the leaf, and the leaf's
  ///   priority.
  /// - Throws: what the body throws, at once.
  public func forEachLeaf<E: Error>(
    _ body: (_ keys: [Key], _ leaf: Leaf, _ priority: Priority?) throws(E) -> Void
  ) throws(E) {
    if let leaf { return try body([], leaf, priority) }
    var keys: [Key] = []
    var levels = [children.makeIterator()]
    while !levels.isEmpty {
      guard let child = levels[levels.count - 1].next() else {
        levels.removeLast()
        _ = keys.popLast()
        continue
      }
      keys.append(child.key)
      if let leaf = child.node.leaf {
        try body(keys, leaf, child.node.priority)
        keys.removeLast()
      } else {
        levels.append(child.node.children.makeIterator())
      }
    }
  }
}
