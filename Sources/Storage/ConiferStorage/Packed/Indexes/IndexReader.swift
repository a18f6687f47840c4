import ConiferKeyValue
import ConiferLeafStore

/// Tells how the indexes of a tree stand.
enum IndexReader {
  static func status(
    _ view: any OrderedView, _ tree: TreeID
  ) throws(StoreError) -> [IndexStatus] {
    var list: [IndexStatus] = []
    for index in try IndexSet.read(view, tree).indexes {
      let prefix = IndexSet.prefix(tree, index.number)
      var (rows, bytes) = (0, 0)
      try view.walkKeys(Spaces.indexes, .atOrAfter(prefix)) { key, size in
        guard key.starts(with: prefix) else { return .stop }
        rows += 1
        bytes += 1 + key.byteCount + size
        return .next
      }
      list.append(
        IndexStatus(
          definition: index.definition, state: try state(view, tree, index), entries: rows,
          bytes: bytes))
    }
    return list
  }

  /// How far a build is, by the runs that it has passed.
  private static func state(
    _ view: any OrderedView, _ tree: TreeID, _ index: StoredIndex
  ) throws(StoreError) -> IndexStatus.State {
    guard let position = index.position else { return .ready }
    let place = StoreKey.prefix(tree) + position
    let prefix = StoreKey.prefix(tree)
    var (runs, passed) = (0, 0)
    try view.walkKeys(Spaces.runs, .atOrAfter(prefix)) { key, _ in
      guard key.starts(with: prefix) else { return .stop }
      runs += 1
      if key.compare(place) < 0 { passed += 1 }
      return .next
    }
    return .building(runs == 0 ? 0 : Double(max(0, passed - 1)) / Double(runs))
  }
}
