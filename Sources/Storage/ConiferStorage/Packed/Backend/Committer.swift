import ConiferKeyValue
import ConiferLeafStore

/// Does commits: those that wait together share one batch, and each still succeeds or fails by itself.
final class Committer {
  private let writer: StoreWriter
  private let repairer: Repairer
  private let activity: Activity
  /// Whether trees may have indexes.
  private let keepsIndexes: Bool
  /// Whether every tree is known to be found by its name.
  private var hasCheckedNames = false

  init(_ writer: StoreWriter, _ repairer: Repairer, _ activity: Activity, keepsIndexes: Bool) {
    self.writer = writer
    self.repairer = repairer
    self.activity = activity
    self.keepsIndexes = keepsIndexes
  }

  /// Does commits and answers each.
  ///
  /// - Parameter trees: the trees of which it matters whether something comes where nothing covers it.
  func commit(_ group: [PackedEngine.Pending], watching trees: Set<TreeID>) {
    for (pending, result) in zip(group, results(group, trees)) { pending.reply(result) }
  }

  /// The tree with a name, made if there is none.
  func tree(
    _ name: String, _ order: KeyOrder, _ durability: Durability
  ) throws(StoreError) -> TreeID {
    try repairer.retrying { (_) throws(StoreError) in
      try writer.change(durability) { (tx) throws(StoreError) in
        if !hasCheckedNames, try Trees.find(tx, name) == nil {
          try Trees.checkNames(tx)
          hasCheckedNames = true
        }
        return try Trees.make(tx, name, order)
      }
    }
  }

  /// Writes the uses of queries that no commit took along; before the store is suspended or closed.
  func storeUses() throws(StoreError) {
    let uses = activity.uses
    guard !uses.isEmpty else { return }
    let stored = try repairer.retrying { (_) throws(StoreError) in
      try writer.change(.process) { (tx) throws(StoreError) in
        try Recency.store(tx, uses, distance: 0, limit: .max)
      }
    }
    activity.stored(stored)
  }

  /// Applies a group in one batch, and one by one when the store refuses that: a commit that is too
  /// large, or for which there is no space, fails alone.
  private func results(
    _ group: [PackedEngine.Pending], _ trees: Set<TreeID>
  ) -> [Result<CommitReceipt, StoreError>] {
    do throws(StoreError) {
      return try repairer.retrying { (tried) throws(StoreError) in
        try apply(group, trees, tried)
      }
    } catch {
      if group.count > 1, [.tooLarge, .full].contains(error.code) {
        return group.flatMap { results([$0], trees) }
      }
      return group.map { _ in .failure(error) }
    }
  }

  /// Applies a group in one batch; a commit that fails leaves the others alone.
  ///
  /// - Parameter tried: damaged records that were repaired already; meeting one again fails the commit.
  private func apply(
    _ group: [PackedEngine.Pending], _ trees: Set<TreeID>, _ tried: Set<StoreError.Place>
  ) throws(StoreError) -> [Result<CommitReceipt, StoreError>] {
    let tx = try writer.leaves.transaction()
    defer { tx.close() }
    var outcomes: [Result<(writes: [WriteID], queries: [QueryID]), StoreError>] = []
    var durability = Durability.relaxed
    for pending in group {
      let saved = tx.state
      do throws(StoreError) {
        outcomes.append(.success(try apply(pending, tx, trees)))
        durability = max(durability, pending.durability)
      } catch {
        if repairer.policy.repairs(error, tried) { throw error }
        tx.restore(saved)
        outcomes.append(.failure(error))
      }
    }
    let uses = tx.state.isChanged ? try storeSomeUses(tx) : Recency.Stored()
    let commit = try writer.commit(tx, durability)
    activity.stored(uses)
    return outcomes.map { outcome in
      outcome.map { CommitReceipt(commit: commit, writes: $0.writes, queries: $0.queries) }
    }
  }

  private func apply(
    _ pending: PackedEngine.Pending, _ tx: LeafTransaction, _ trees: Set<TreeID>
  ) throws(StoreError) -> (writes: [WriteID], queries: [QueryID]) {
    guard pending.durability <= writer.store.traits.strongest else {
      throw StoreError(
        .unsupported,
        "This store goes no further than \(writer.store.traits.strongest): commit at that, or choose "
          + "another backend.")
    }
    var applier = CommitApplier(tx, keepsIndexes: keepsIndexes)
    try applier.apply(pending.edits)
    try applier.findUncovered(in: trees)
    return (applier.writes, applier.queries)
  }

  /// Stores some uses of queries with a commit that writes anyway.
  private func storeSomeUses(_ tx: LeafTransaction) throws(StoreError) -> Recency.Stored {
    let stored = try Recency.store(
      tx, activity.usesToStore, distance: Activity.quantum, limit: Activity.mostPerCommit)
    // The counter is a record of the system space.
    if tx.state.overlays[Spaces.system] != nil {
      activity.advance(to: try Recency.clock(tx))
    }
    return stored
  }
}
