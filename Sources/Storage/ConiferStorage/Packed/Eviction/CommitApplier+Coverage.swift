import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// What a commit tells eviction.
extension CommitApplier {
  /// Notes in which of some trees this commit wrote where nothing covers.
  func findUncovered(in trees: Set<TreeID>) throws(StoreError) {
    for (tree, path) in written
    where trees.contains(tree) && !tx.notes.cover.uncovered.contains(tree) {
      guard let info = try Trees.info(tx, tree) else { continue }
      let key = PathKey.encode(path, info.order)
      guard let range = try Coverage(tx, info).next(key), compareBytes(range.low, key) <= 0,
        compareBytes(key + [PathKey.endMark], range.high) <= 0
      else {
        _ = tx.note { $0.cover.uncovered.insert(tree) }
        continue
      }
    }
  }

  /// Notes that data of a tree may have lost what covered it.
  func uncover(_ tree: TreeID, releasing amount: Int) {
    _ = tx.note { $0.cover.uncovered.insert(tree) }
    tx.note { $0.cover.released += amount }
  }
}
