package import ConiferKeyValue
import ConiferLeafStore
package import ConiferTree

/// A backend that knows how large the data at a path is without reading all of it.
package protocol MeasuringBackend: StorageBackend {
  /// About how many bytes the records of the data at and below a path take; reads the heads of its runs.
  ///
  /// - Throws: `invalid` (an unknown tree), `damaged`, `io`, `closed`, `suspended`.
  func recordBytes(_ tree: TreeID, _ path: Path) throws(StoreError) -> Int
}

extension PackedBackend: MeasuringBackend {
  package func recordBytes(_ tree: TreeID, _ path: Path) throws(StoreError) -> Int {
    try reading { (snapshot) throws(StoreError) in
      let reader = try TreeReader(snapshot, tree)
      let key = PathKey.encode(path, reader.order)
      let range = PruneRanges.KeyRange(low: key, high: key + [PathKey.endMark])
      return try RangeMeter(runs: reader.runs).measure([range]).bytes
    }
  }
}
