package import ConiferKeyValue
import ConiferLeafStore
package import ConiferTree

/// A backend that knows how large the data at a path is without reading all of it.
package protocol MeasuringBackend: StorageBackend {
  /// About how many bytes the records of the data at and below a path take; reads the heads of its runs.
  ///
  /// - Parameter children: the first and the last child to count; nil for all, and for the path's
  ///   own record.
  /// - Throws: `invalid` (an unknown tree, or one of documents), `damaged`, `io`, `closed`, `suspended`.
  func recordBytes(
    _ tree: TreeID, _ path: Path, _ children: (first: Key, last: Key)?
  ) throws(StoreError) -> Int
}

extension PackedBackend: MeasuringBackend {
  package func recordBytes(
    _ tree: TreeID, _ path: Path, _ children: (first: Key, last: Key)?
  ) throws(StoreError) -> Int {
    try reading { (snapshot) throws(StoreError) in
      let reader = try TreeReader(snapshot, tree)
      try reader.order.requireNodes()
      let key = PathKey.encode(path, reader.order)
      var (low, high) = (key, key)
      if let children {
        PathKey.append(children.first, reader.order, to: &low)
        PathKey.append(children.last, reader.order, to: &high)
      }
      let range = PruneRanges.KeyRange(low: low, high: high + [PathKey.endMark])
      return try RangeMeter(runs: reader.runs).measure([range]).bytes
    }
  }
}
