internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension StorageModel {
  /// A tracked query of a store.
  struct QueryName: Hashable {
    let tree: TreeID
    let query: QueryID
  }
}

extension StorageModel.Tree {
  /// The paths that a query covers, with everything below them: its own path, or those of the
  /// children that it holds.
  func coverage(_ id: QueryID) -> [Path] {
    guard let query = queries[id] else { return [] }
    let held = query.isDefault ? [] : keys[id] ?? []
    return held.isEmpty ? [query.path] : held.map { query.path.appending($0) }
  }

  /// The tree without the data that neither a pin nor one of the given queries covers.
  func kept(by ids: some Sequence<QueryID>, pins: Bool = true) -> Node {
    var markers: [Path: PruneForest.Marker] = [.root: .prune]
    if pins { for pin in self.pins { markers[pin.path] = .keep } }
    for id in ids { for path in coverage(id) { markers[path] = .keep } }
    return root.pruned(PruneForest(markers), keeping: [])
  }

  /// Whether a pin lies at or above a path.
  func isPinned(_ path: Path) -> Bool { pins.contains { $0.path.contains(path) } }
}

extension Node {
  /// Whether this node is another one without some of its parts.
  func isPart(of whole: Node) -> Bool {
    if isEmpty { return true }
    if isLeaf || whole.isLeaf { return difference(from: whole) == nil }
    guard priority == nil || priority == whole.priority else { return false }
    return children.allSatisfy { $0.node.isPart(of: whole[$0.key]) }
  }
}
