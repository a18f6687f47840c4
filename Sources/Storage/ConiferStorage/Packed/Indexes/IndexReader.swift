import ConiferKeyValue

/// Tells how the indexes of a tree stand.
enum IndexReader {
  static func status(
    _ view: any OrderedView, _ tree: TreeID
  ) throws(StoreError) -> [IndexStatus] {
    var list: [IndexStatus] = []
    for index in try IndexSet.read(view, tree).indexes {
      let prefix = IndexSet.prefix(tree, index.number)
      let rows = try view.sizes(Spaces.indexes, prefix: prefix)
      list.append(
        IndexStatus(
          definition: index.definition, state: try state(view, tree, index), entries: rows.count,
          bytes: rows.reduce(0) { $0 + 1 + $1.key.count + $1.size }))
    }
    return list
  }

  /// How far a build is, by the runs that it has passed.
  private static func state(
    _ view: any OrderedView, _ tree: TreeID, _ index: StoredIndex
  ) throws(StoreError) -> IndexStatus.State {
    guard let position = index.position else { return .ready }
    let place = StoreKey.prefix(tree) + position
    let runs = try view.keys(Spaces.runs, prefix: StoreKey.prefix(tree))
    let passed = runs.count { bytesPrecede($0, place) }
    return .building(runs.isEmpty ? 0 : Double(max(0, passed - 1)) / Double(runs.count))
  }
}
