import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// A place to which a commit wrote, in either data model.
enum WrittenPlace {
  case node(Path)
  case document(DocumentPath)

  /// Its path key.
  func key(_ order: KeyOrder) -> Bytes {
    switch self {
    case .node(let path): PathKey.encode(path, order)
    case .document(let path): DocumentKey.encode(path)
    }
  }
}

/// Telling eviction what a commit wrote and uncovered.
extension CommitApplier {
  /// Records the trees among those given in which this commit wrote data that nothing covers.
  func findUncovered(in trees: Set<TreeID>) throws(StoreError) {
    if trees.isEmpty { return }
    for (tree, places) in Dictionary(grouping: written, by: \.0)
    where trees.contains(tree) && !tx.effects.cover.uncovered.contains(tree) {
      guard let info = try Trees.info(tx, tree) else { continue }
      let coverage = Coverage(tx, info)
      // Places are visited in order, so that what was read for one is used for the next.
      for key in places.map({ $0.1.key(info.order) }).sorted(by: bytesPrecede) {
        guard let range = try coverage.next(key), compareBytes(range.low, key) <= 0,
          compareBytes(key + [PathKey.endMark], range.high) <= 0
        else {
          tx.effects.cover.uncovered.insert(tree)
          break
        }
      }
    }
  }

  /// Records that data of a tree may no longer be covered.
  func uncover(_ tree: TreeID, weight: Int) {
    tx.effects.cover.uncovered.insert(tree)
    tx.effects.cover.uncoveredWeight += weight
  }
}
