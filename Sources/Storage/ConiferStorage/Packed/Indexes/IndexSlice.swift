import ConiferKeyValue
import ConiferLeafStore

/// A slice of building the declared indexes, or of removing the rows of a dropped one.
struct IndexSlice {
  /// How many rows a slice writes or removes.
  private static let mostRows = 256
  /// How many entries a slice looks at.
  private static let mostEntries = 4096

  let tx: LeafTransaction

  /// The trees that have index records.
  static func trees(_ view: any OrderedView) throws(StoreError) -> [TreeID] {
    var trees: [TreeID] = []
    try view.walkKeys(Spaces.indexes, .atOrAfter([])) { key, _ in
      let prefix = Bytes(key.extracting(first: min(4, key.byteCount)))
      guard prefix.count == 4, let end = StoreKey.end(of: prefix) else { return .next }
      trees.append(StoreKey.tree(prefix))
      return .jump(end)
    }
    return trees
  }

  /// Does a slice for one tree; what it did and where it stands are of one commit.
  ///
  /// - Returns: whether more is left.
  func step(_ tree: TreeID) throws(StoreError) -> Bool {
    var set = try IndexSet.read(tx, tree)
    if let number = set.dropped.first {
      let prefix = IndexSet.prefix(tree, number)
      let keys = try tx.keys(Spaces.indexes, prefix: prefix, limit: Self.mostRows)
      for key in keys { try tx.delete(Spaces.indexes, key) }
      if keys.count < Self.mostRows {
        set.dropped.removeFirst()
        try set.write(tx, tree)
      }
      return set.hasWork
    }
    guard let place = set.indexes.firstIndex(where: { !$0.isReady }) else { return false }
    set.indexes[place].position = try build(set.indexes[place], tree)
    try set.write(tx, tree)
    return set.hasWork
  }

  /// Writes the rows of the next children or documents.
  ///
  /// - Returns: where the next slice begins, nil at the end.
  private func build(_ index: StoredIndex, _ tree: TreeID) throws(StoreError) -> Bytes? {
    let rows = IndexRows(tx: tx)
    var count = 0
    return try RowPlan(index, tree).forEach(
      in: RunReader(view: tx, tree: tree), from: index.position ?? [],
      to: [PathKey.endMark], limit: Self.mostEntries
    ) { (added, _) throws(StoreError) in
      for row in added { try rows.add(row) }
      count += added.count
      return count < Self.mostRows
    }
  }
}
