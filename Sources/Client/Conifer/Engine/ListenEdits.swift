import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree

/// The edits that store what a listen has brought.
struct ListenEdits {
  let tree: TreeID
  let target: QueryTarget
  /// The server's data that the view has.
  let data: Node
  /// The number of its query in the store; nil before it is there.
  let query: QueryID?

  /// Edits that store all of it.
  var snapshot: [StorageEdit] {
    guard !target.spec.isDefault else { return [.overwrite(tree, target.path, data)] }
    guard let query else { return [] }
    var edits = data.children.map {
      StorageEdit.overwrite(tree, target.path.appending($0.key), $0.node)
    }
    edits.append(.setTrackedKeys(tree, query, data.children.map(\.key)))
    return edits
  }

  /// Edits that store a change of what a filtered listen holds: children that came in whole, and in
  /// those that stayed only what changed.
  ///
  /// - Parameters:
  ///   - changes: what changed; their paths are relative to the target's.
  ///   - windowChanges: what came in to filtered listens and left them.
  func window(
    _ changes: [NodeChange], _ windowChanges: [SyncResult.WindowChange]
  ) -> [StorageEdit] {
    guard let query else { return [] }
    let windows = windowChanges.filter { $0.target == target }
    let added = Set(windows.flatMap(\.added))
    let removed = Set(windows.flatMap(\.removed)).subtracting(added)
    var edits = added.sorted().filter { !data[$0].isEmpty }.map {
      StorageEdit.overwrite(tree, target.path.appending($0), data[$0])
    }
    for change in changes {
      guard let key = change.path.first else {
        for child in data.children where !added.contains(child.key) {
          edits.append(.overwrite(tree, target.path.appending(child.key), child.node))
        }
        continue
      }
      guard !key.isPriority, !added.contains(key), !data[key].isEmpty else { continue }
      edits.append(.overwrite(tree, target.path.appending(change.path), change.node))
    }
    if windows.contains(where: \.replacesAll) {
      edits.append(.setTrackedKeys(tree, query, data.children.map(\.key)))
    } else if !added.isEmpty || !removed.isEmpty {
      edits.append(
        .updateTrackedKeys(tree, query, added: added.sorted(), removed: removed.sorted()))
    }
    return edits
  }
}
