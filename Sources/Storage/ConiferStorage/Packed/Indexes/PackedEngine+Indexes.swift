import ConiferKeyValue

/// Builds indexes in slices between commits.
extension PackedEngine {
  /// Takes note of a commit that declared or restarted indexes, or is the first one since the store
  /// was opened in a tree that has some.
  func noteIndexes(_ state: Transaction.State) {
    let isDue = state.usage.values.contains { $0.bytes[Spaces.indexes.id] ?? 0 > 0 }
    if state.changesIndexes || (hasIndexWork == nil && isDue) { hasIndexWork = true }
  }

  /// Whether something is to be built or removed; looks when that is not known.
  func needsIndexWork() throws(StoreError) -> Bool {
    if let hasIndexWork { return hasIndexWork }
    let view = try store.view()
    defer { view.close() }
    var hasWork = false
    for tree in try IndexBuilder.trees(view) where !hasWork {
      hasWork = try IndexSet.read(view, tree).hasWork
    }
    hasIndexWork = hasWork
    return hasWork
  }

  /// Does a slice in a commit of its own.
  func buildIndexes() throws(StoreError) {
    do throws(StoreError) {
      let hasMore = try retryingAfterRepair { (_) throws(StoreError) in
        // Losing a slice in a crash loses nothing: the next one begins where it did.
        try change(.relaxed) { (tx) throws(StoreError) in try buildSlice(tx) }
      }
      hasIndexWork = hasMore
    } catch {
      // A later commit tries again; an authority's damaged data is told by whoever reads it.
      hasIndexWork = nil
      guard error.code == .damaged, let place = error.place, !mayRepair(place) else { throw error }
      hasIndexWork = false
    }
  }

  private func buildSlice(_ tx: Transaction) throws(StoreError) -> Bool {
    let builder = IndexBuilder(tx: tx, codec: codec, longestKey: longestKey)
    var isDone = false
    var stuck: StoreError?
    for tree in try IndexBuilder.trees(tx) where try IndexSet.read(tx, tree).hasWork {
      if isDone { return true }
      let saved = tx.state
      do throws(StoreError) {
        if try builder.step(tree) { return true }
        isDone = true
      } catch {
        // An authority's damage stays: its other trees go on.
        guard error.code == .damaged, let place = error.place, !mayRepair(place) else {
          throw error
        }
        tx.state = saved
        stuck = error
      }
    }
    if let stuck, !isDone { throw stuck }
    return false
  }

  /// Goes on while nothing else waits.
  func buildIdly() {
    guard hasIndexWork == true else { return }
    do throws(StoreError) { try buildIndexes() } catch { hasIndexWork = nil }
    noteBudget()
  }
}
