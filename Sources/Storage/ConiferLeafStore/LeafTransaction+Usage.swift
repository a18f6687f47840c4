package import ConiferKeyValue

/// What a commit counts of the trees that it changes.
extension LeafTransaction {
  /// Changes the usage of a tree in place, since copying a row would cost more than the change.
  package func changeUsage<R>(
    _ tree: TreeID, _ body: (inout UsageRow) -> R
  ) throws(StoreError) -> R {
    if state.usage[tree] == nil {
      let row = try usage(tree)
      // The only copy is changed in place.
      unchangedUsage[tree] = nil
      state.usage[tree] = row
    }
    return body(&state.usage[tree, default: UsageRow()])
  }

  /// Adds to the counted leaves and uncompressed bytes of a tree.
  package func countTree(_ tree: TreeID, leaves: Int, raw: RawBytes) throws(StoreError) {
    guard leaves != 0 || raw != RawBytes() else { return }
    try changeUsage(tree) { row in
      row.leaves += leaves
      row.raw = row.raw + raw
    }
  }

  /// Adds to the counted queries of a tree.
  package func countQueries(_ tree: TreeID, _ change: Int) throws(StoreError) {
    try changeUsage(tree) { $0.queries += change }
  }

  /// A number for a new run of a tree.
  ///
  /// - Throws: `tooLarge` when all are used.
  package func nextRunNumber(_ tree: TreeID) throws(StoreError) -> UInt64 {
    let last = try usage(tree).nextRun - 1
    let number = try Numbers.next(after: last, last: Numbers.lastRun, "runs of a tree")
    try changeUsage(tree) { $0.nextRun = number + 1 }
    return number
  }

  /// Replaces the counted usage of a tree after a recount.
  package func setUsage(_ tree: TreeID, _ row: UsageRow) {
    state.usage[tree] = row
    state.isChanged = true
  }

  /// Forgets the usage of a tree whose records are all gone.
  package func forgetUsage(_ tree: TreeID) throws(StoreError) {
    // A tree can be removed although its usage row cannot be read.
    let row = try undamaged { () throws(StoreError) in try usage(tree) }
    for bytes in (row ?? UsageRow()).bytes.values { state.growth.add(-bytes) }
    unchangedUsage[tree] = nil
    try delete(Spaces.usage, StoreKey.prefix(tree))
    state.usage[tree] = nil
  }

  /// What a tree's records take, with the edits so far.
  package func usage(_ tree: TreeID) throws(StoreError) -> UsageRow {
    if let row = state.usage[tree] { return row }
    if let row = unchangedUsage[tree] { return row }
    let row = try UsageRow.read(self, tree)
    unchangedUsage[tree] = row
    return row
  }

  /// The trees that have records, with the edits so far; some may have lost all of theirs.
  package func countedTrees() throws(StoreError) -> Set<TreeID> {
    var trees =
      if let storedUsage { storedUsage } else {
        Set(try UsageRow.trees(base))
      }
    storedUsage = trees
    for tree in state.usage.keys { trees.insert(tree) }
    return trees
  }

  /// Writes the usage of trees that changed or whose usage was read; an unchanged row is not
  /// written again. This is the last step before `batch()`.
  package func writeUsage() throws(StoreError) {
    for (tree, row) in state.usage {
      try put(Spaces.usage, StoreKey.prefix(tree), payload: row.payload)
    }
  }
}
