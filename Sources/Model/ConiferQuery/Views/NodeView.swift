package import ConiferTree

/// A query's result on a node, kept up to date as the node changes.
///
/// A change costs the number of changed children times the logarithm of all: a limit's window is
/// trimmed and refilled at its edge, never evaluated again.
package struct NodeView: Sendable {
  /// The query.
  package let spec: QuerySpec
  /// The node before the filter.
  package private(set) var source: Node
  /// The result: the source itself when all data is loaded, otherwise the children within range and
  /// limit, without the node's own priority.
  package internal(set) var node: Node
  /// The order of the source's children within the range; nil where it is the order of keys.
  var sorted: SortedChildren?
  /// The last place that a full window of a limit reaches; nil while everything in range is shown.
  var edge: SortedChildren.Entry?

  /// A query's result on a node.
  package init(_ spec: QuerySpec, of source: Node = .empty) {
    self.spec = spec
    self.source = source
    node = .empty
    sorted = NodeView.sorted(spec, source)
    node = spec.loadsAllData ? source : .empty
    if spec.limit != nil {
      fillWindow()
    } else if !spec.loadsAllData {
      node = spec.filtered(source)
    }
  }

  /// Takes another version of the node.
  ///
  /// - Parameter source: the new version, which shares with the old one what did not change.
  /// - Returns: what happened to the children that are shown: removed ones, added, moved, changed,
  ///   each kind in the order of the query.
  package mutating func update(to source: Node) -> [ChildChange] {
    let old = (source: self.source, node: node, isByKey: sorted == nil)
    self.source = source
    let isByKey = spec.isByKey(source)
    if spec.loadsAllData && isByKey {
      sorted = nil
      node = source
    } else {
      let changed = Array(source.changes(since: old.source))
      sort(changed, isByKey: isByKey)
      if spec.loadsAllData {
        node = source
      } else if let limit = spec.limit {
        // Another order has another edge.
        if isByKey == old.isByKey { moveWindow(changed, limit) } else { fillWindow() }
      } else {
        for (key, _, new) in changed {
          node = node.setting(key, to: spec.contains(key, new) ? new : .empty)
        }
      }
    }
    return changes(since: old.node, isByKey: isByKey && old.isByKey)
  }

  /// The shown children in the order of the query.
  package var children: [Node.Child] {
    sorted == nil ? Array(node.children) : spec.evaluate(node)
  }

  /// The key of the shown child before another shown one; nil for the first.
  package func previousKey(of key: Key) -> Key? {
    guard let sorted else { return node.child(before: key)?.key }
    guard let before = sorted.before(entry(key, node[key]))?.key else { return nil }
    return spec.limit == nil || !node[before].isEmpty ? before : nil
  }

  private static func sorted(_ spec: QuerySpec, _ source: Node) -> SortedChildren? {
    if spec.isByKey(source) { return nil }
    var entries: [SortedChildren.Entry] = []
    for (key, node) in source.children where spec.contains(key, node) {
      entries.append(.init(value: spec.index.value(of: key, node), key: key))
    }
    return SortedChildren(entries)
  }

  func entry(_ key: Key, _ node: Node) -> SortedChildren.Entry {
    // Where order is by key, only the key counts.
    .init(value: sorted == nil ? .empty : spec.index.value(of: key, node), key: key)
  }

  private mutating func sort(
    _ changed: [(key: Key, old: Node, new: Node)], isByKey: Bool
  ) {
    if isByKey {
      sorted = nil
      return
    }
    // It is moved out of the property, so that changing it does not copy it.
    guard var order = sorted, changed.count < 64 || changed.count < order.count / 2 else {
      sorted = NodeView.sorted(spec, source)
      return
    }
    sorted = nil
    for (key, old, new) in changed {
      if !old.isEmpty { order.remove(.init(value: spec.index.value(of: key, old), key: key)) }
      if spec.contains(key, new) {
        order.insert(.init(value: spec.index.value(of: key, new), key: key))
      }
    }
    sorted = order
  }

  private func changes(since old: Node, isByKey: Bool) -> [ChildChange] {
    var (removed, added, changed): ([Node.Child], [Node.Child], [Node.Child]) = ([], [], [])
    var moved: [Node.Child] = []
    for (key, before, after) in node.changes(since: old) {
      if before.isEmpty {
        added.append((key, after))
      } else if after.isEmpty {
        removed.append((key, before))
      } else if before != after {
        changed.append((key, after))
        if isMoved(before, after) { moved.append((key, after)) }
      }
    }
    var result: [ChildChange] = []
    result.reserveCapacity(removed.count + added.count + moved.count + changed.count)
    for (kind, var children) in [
      (ChildChange.Kind.removed, removed), (.added, added), (.moved, moved), (.changed, changed),
    ] {
      if !isByKey { children.sort { spec.index.compare($0, $1) < 0 } }
      for child in children {
        result.append(ChildChange(kind: kind, key: child.key, node: child.node))
      }
    }
    return result
  }

  /// Whether the clients of the Realtime Database say of a changed child that it moved.
  private func isMoved(_ old: Node, _ new: Node) -> Bool {
    switch spec.index {
    case .key: false
    case .priority: old.priority != new.priority
    case .value: true
    case .child(let path): Node.compareValues(old[path], new[path]) != 0
    }
  }
}
