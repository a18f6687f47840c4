import ConiferKeyValue
import ConiferLeafStore

/// Builds indexes and removes the rows of dropped ones, in slices between commits.
final class IndexBuilder {
  private let writer: StoreWriter
  private let repairer: Repairer
  /// Whether something is to be built or removed; nil while that is not known.
  private var isNeeded: Bool?

  init(_ writer: StoreWriter, _ repairer: Repairer) {
    self.writer = writer
    self.repairer = repairer
  }

  /// Whether a slice waits, as far as is known.
  var hasWork: Bool { isNeeded == true }

  /// Told of each change: one that declared or restarted indexes, or is the first one since the store
  /// was opened in a tree that has some.
  func didChange(_ change: StoreChange) {
    let hasIndexes = change.usage.values.contains { $0.bytes[Spaces.indexes.id] ?? 0 > 0 }
    if change.effects.changesIndexes || (isNeeded == nil && hasIndexes) { isNeeded = true }
  }

  /// Forgets what was known of the store, which another process may have had since.
  func forget() { isNeeded = nil }

  /// Stops building; called before the store is closed.
  func stop() { isNeeded = false }

  /// Whether something is to be built or removed; asks the store when that is not known, and repairs what
  /// it finds damaged, in commits.
  func needsSliceAfterRepair() throws(StoreError) -> Bool {
    if let isNeeded { return isNeeded }
    // The record of what is declared may be lost or damaged.
    let isNeeded = try repairer.retrying { (_) throws(StoreError) in
      try writer.read { (view) throws(StoreError) in
        for tree in try IndexSlice.trees(view) where try IndexSet.read(view, tree).hasWork {
          return true
        }
        return false
      }
    }
    self.isNeeded = isNeeded
    return isNeeded
  }

  /// Does a slice in a commit of its own.
  func slice() throws(StoreError) {
    do throws(StoreError) {
      isNeeded = try repairer.retrying { (_) throws(StoreError) in
        // A slice that a crash undoes is simply done again from the same position.
        try writer.change(.relaxed) { (tx) throws(StoreError) in try slice(tx) }
      }
    } catch {
      // A later commit tries again. If an authority's data is damaged, reading it fails anyway.
      isNeeded = nil
      guard repairer.policy.leavesAsIs(error) else { throw error }
      isNeeded = false
    }
  }

  /// Does a slice of the first tree that has one.
  ///
  /// - Returns: whether more is left.
  private func slice(_ tx: LeafTransaction) throws(StoreError) -> Bool {
    let slice = IndexSlice(tx: tx)
    var isDone = false
    var failure: StoreError?
    for tree in try IndexSlice.trees(tx) where try IndexSet.read(tx, tree).hasWork {
      if isDone { return true }
      let saved = tx.state
      do throws(StoreError) {
        if try slice.step(tree) { return true }
        isDone = true
      } catch {
        // The damage of an authority stays; its other trees are continued.
        guard repairer.policy.leavesAsIs(error) else { throw error }
        repairer.policy.note(error)
        tx.restore(saved)
        failure = error
      }
    }
    if let failure, !isDone { throw failure }
    return false
  }
}
