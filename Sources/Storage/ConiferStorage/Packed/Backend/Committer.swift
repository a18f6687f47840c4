import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Applies commits: those that wait together share one batch, and each still succeeds or fails by itself.
final class Committer {
  private let writer: StoreWriter
  private let repairer: Repairer
  private let activity: Activity
  /// Whether trees may have indexes.
  private let maintainsIndexes: Bool
  /// Whether every tree is known to be found by its name.
  private var hasCheckedNames = false

  init(_ writer: StoreWriter, _ repairer: Repairer, _ activity: Activity, maintainsIndexes: Bool) {
    self.writer = writer
    self.repairer = repairer
    self.activity = activity
    self.maintainsIndexes = maintainsIndexes
  }

  /// Applies commits and answers each.
  ///
  /// - Parameter trees: the trees of which eviction wants to know whether uncovered data was written.
  func commit(_ group: [PackedEngine.Pending], watching trees: Set<TreeID>) {
    for (pending, result) in zip(group, results(group, trees)) { pending.reply(result) }
  }

  /// Forgets what was known of the store, which another process may have had since.
  func forget() { hasCheckedNames = false }

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

  /// Stores the uses of queries that no commit has stored yet; called before the store is suspended
  /// or closed.
  func storeUses() throws(StoreError) {
    let uses = activity.uses.sorted { $0.value < $1.value }.map { (name: $0.key, use: $0.value) }
    guard !uses.isEmpty else { return }
    let stored = try repairer.retrying { (_) throws(StoreError) in
      try writer.change(.process) { (tx) throws(StoreError) in
        try Recency.store(tx, uses, distance: 0)
      }
    }
    activity.stored(stored)
  }

  /// Applies a group in one batch. When the store refuses the batch, the commits are applied one by
  /// one, so that only a commit that is too large, or has no space, fails.
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
  /// - Parameter tried: damaged records whose repair was tried; a commit that meets one again fails.
  private func apply(
    _ group: [PackedEngine.Pending], _ trees: Set<TreeID>, _ tried: Set<StoreError.Place>
  ) throws(StoreError) -> [Result<CommitReceipt, StoreError>] {
    let tx = try writer.leaves.transaction()
    defer { tx.close() }
    if let loss = writer.synced.loss { tx.effects.unreportedSteps = loss.floorSteps }
    var outcomes: [Result<(writes: [WriteID], queries: [QueryID]), StoreError>] = []
    var durability = Durability.relaxed
    // Such commits may use the reserve: the end of a write may make a document's overlay larger,
    // but the end of the next writes makes it smaller.
    let isClient = repairer.policy.role == .cache
    tx.frees = group.allSatisfy {
      $0.edits.onlyEndWrites || $0.edits.onlyForget || isClient && $0.edits.letWritesEnd
    }
    for pending in group {
      let saved = tx.state
      do throws(StoreError) {
        outcomes.append(.success(try apply(pending, tx, trees)))
        durability = max(durability, pending.durability)
      } catch {
        if repairer.policy.repairs(error, tried) { throw error }
        repairer.policy.note(error)
        tx.restore(saved)
        outcomes.append(.failure(error))
      }
    }
    let feedsCache = group.contains { $0.edits.contains(where: \.feedsCache) }
    let limit = feedsCache ? Activity.mostPerCommit : Activity.mostPerWrite
    let uses = tx.state.isChanged ? try storeSomeUses(tx, limit) : Recency.Stored()
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
    var applier = CommitApplier(tx, maintainsIndexes: maintainsIndexes)
    try applier.apply(pending.edits)
    try applier.findUncovered(in: trees)
    return (applier.writes, applier.queries)
  }

  /// Stores some uses of queries with a commit that writes anyway.
  private func storeSomeUses(
    _ tx: LeafTransaction, _ limit: Int
  ) throws(StoreError) -> Recency.Stored {
    let stored = try Recency.store(
      tx, activity.usesToStore(limit), distance: Activity.quantum)
    // The counter is a record of the system space.
    if tx.state.edits[Spaces.system] != nil {
      activity.advance(to: try Recency.clock(tx))
    }
    return stored
  }
}

extension [StorageEdit] {
  /// Whether they take writes out of those that wait, and otherwise store what the server's answer says. There are only as
  /// many such commits as writes that wait.
  fileprivate var onlyEndWrites: Bool {
    isEmpty || contains(where: \.endsWrites) && allSatisfy { $0.endsWrites || $0.mayBeAnswer }
  }

  /// Whether they store only what a client must store before the server is sent writes: who is signed in, and the token
  /// of the stream. That is little, and takes the place of what it was.
  fileprivate var letWritesEnd: Bool {
    allSatisfy { edit in
      if case .setMetadata(_, _, let bytes) = edit { (bytes?.count ?? 0) <= 1024 } else { false }
    }
  }
}

extension [StorageEdit] {
  /// Whether they only forget cached data, and note that queries are incomplete without it.
  fileprivate var onlyForget: Bool {
    contains(where: \.forgets)
      && allSatisfy { edit in
        if case .saveQuery(let query) = edit { !query.isComplete } else { edit.forgets }
      }
  }
}

extension StorageEdit {
  /// Whether all it does is to remove cached data, or a record of it.
  fileprivate var forgets: Bool {
    switch self {
    case .prune, .removeQuery: true
    case .updateTrackedKeys(_, _, added: let added, _): added.isEmpty
    case .documents(_, let edits): !edits.isEmpty && edits.allSatisfy(\.forgets)
    default: false
    }
  }

  /// Whether all it does is to take writes out of those that wait.
  fileprivate var endsWrites: Bool {
    switch self {
    case .finish, .purge, .setState(_, _, .rejected): true
    default: false
    }
  }

  /// Whether it may store what the server's answer to a write says: documents as they are now, the stream's token, and that
  /// the write was sent.
  fileprivate var mayBeAnswer: Bool {
    switch self {
    case .setMetadata, .setState(_, _, .sent): true
    case .documents(_, let edits): edits.allSatisfy { if case .put = $0 { true } else { false } }
    default: false
    }
  }
}

extension DocumentEdit {
  fileprivate var forgets: Bool {
    switch self {
    case .forget: true
    case .updateMatches(_, added: let added, _): added.isEmpty
    default: false
    }
  }
}
