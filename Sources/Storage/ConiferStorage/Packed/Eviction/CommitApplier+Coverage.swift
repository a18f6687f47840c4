import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// What a commit tells eviction.
extension CommitApplier {
  /// Records in which of some trees this commit wrote data that nothing covers.
  func findUncovered(in trees: Set<TreeID>) throws(StoreError) {
    for (tree, path) in written
    where trees.contains(tree) && !tx.effects.cover.uncovered.contains(tree) {
      guard let info = try Trees.info(tx, tree) else { continue }
      let key = PathKey.encode(path, info.order)
      guard let range = try Coverage(tx, info).next(key), compareBytes(range.low, key) <= 0,
        compareBytes(key + [PathKey.endMark], range.high) <= 0
      else {
        tx.effects.cover.uncovered.insert(tree)
        continue
      }
    }
  }

  /// Records that data of a tree may no longer be covered.
  func uncover(_ tree: TreeID, weight: Int) {
    tx.effects.cover.uncovered.insert(tree)
    tx.effects.cover.uncoveredWeight += weight
  }
}
