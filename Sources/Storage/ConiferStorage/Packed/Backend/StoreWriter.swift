import ConiferKeyValue
import ConiferLeafStore

/// Changes the store, a batch at a time, and reports the effect of each change; used by the thread
/// that does the store's work.
final class StoreWriter {
  let leaves: LeafStore
  /// Called with each change that the store has taken.
  var changed: (StoreChange) -> Void = { _ in }
  /// The tree whose counts before a change are also reported.
  var recountedTree: TreeID?
  private(set) var lastCommit = CommitID(rawValue: 0)
  /// The durability of all commits so far. It is relaxed after opening and resuming: the process
  /// that wrote the newest commit may have died before its sync.
  private var survived = Durability.relaxed
  /// What tells at the next opening whether the commits are there that survive power loss.
  var synced: SyncedCommits

  init(_ leaves: LeafStore, markIn directory: String?) {
    self.leaves = leaves
    synced = SyncedCommits(leaves.store.traits, markIn: directory)
  }

  var store: any OrderedStore { leaves.store }

  /// Reads the newest commit.
  func read<R>(_ body: (any OrderedView) throws(StoreError) -> R) throws(StoreError) -> R {
    let view = try store.view()
    defer { view.close() }
    return try body(view)
  }

  /// Makes a change in one batch.
  ///
  /// - Parameter durability: it is limited to what the store supports.
  func change<R>(
    _ durability: Durability, _ body: (LeafTransaction) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    let tx = try leaves.transaction()
    defer { tx.close() }
    let result = try body(tx)
    _ = try commit(tx, min(durability, store.traits.strongest))
    return result
  }

  /// Stores a transaction and closes it; one that changes nothing writes nothing.
  func commit(_ tx: LeafTransaction, _ durability: Durability) throws(StoreError) -> CommitID {
    guard tx.state.isChanged else {
      tx.close()
      if durability > survived {
        lastCommit = try leaves.apply(tx, Batch(), durability)
        survived = durability
        if durability == .power { synced.didSyncAll() }
      }
      // A query that is saved again unchanged changes no record, but counts as used.
      changed(StoreChange(effects: CommitEffects(cover: tx.effects.cover)))
      return lastCommit
    }
    let stored = synced.next(reportsLoss: tx.effects.reportsLoss)
    try tx.writeUsage()
    if let stored {
      tx.putUncounted(Spaces.usage, StoreCommit.key, payload: stored.payload)
    } else if synced.leavesSign {
      tx.putUncounted(Spaces.usage, StoreState.signKey, payload: StoreState.newSign)
    }
    let batch = tx.batch()
    var change = StoreChange(usage: tx.state.usage, effects: tx.effects)
    change.bytes = batch.edits.reduce(0) { $0 + max(store.traits.writeQuantum, $1.byteCount) }
    // The number lies beside rows that are written anyway.
    if stored != nil { change.bytes -= store.traits.writeQuantum }
    if let recountedTree, change.usage[recountedTree] != nil {
      let before = try undamaged { () throws(StoreError) in
        try UsageRow.read(tx.base, recountedTree)
      }
      change.recountedBefore = before ?? UsageRow()
    }
    tx.close()
    lastCommit = try leaves.apply(tx, batch, durability)
    survived = durability
    synced.didCommit(lastCommit, stored, isDurable: durability == .power)
    changed(change)
    return lastCommit
  }

  /// Numbers, in a commit of its own that survives power loss, what was changed without one: if that goes
  /// missing, it is told.
  func commitNumber() throws(StoreError) {
    guard synced.isMarking else { return }
    try change(.power) { (tx) in
      tx.frees = true
      tx.state.isChanged = true
    }
  }

  /// Applies a batch without a transaction; its bytes are not counted.
  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) {
    lastCommit = try leaves.change { (store) throws(StoreError) in
      try store.apply(batch, durability)
    }
    survived = durability
    if durability == .power { synced.didSyncAll() }
  }

  func harden(_ upTo: CommitID) throws(StoreError) {
    try store.harden(upTo)
    let isAll = upTo >= lastCommit
    if isAll { survived = store.traits.strongest }
    guard store.traits.strongest == .power else { return }
    // Before the first commit there is nothing to harden, and commits of an earlier process may wait.
    if isAll, lastCommit.rawValue > 0 { synced.didSyncAll() } else { synced.didSync(upTo: upTo) }
  }

  /// Forgets what was known of the store, which another process may have had since.
  func forget() {
    survived = .relaxed
    lastCommit = CommitID(rawValue: 0)
    synced.forget()
  }
}

extension Batch.Edit {
  /// The bytes that it names.
  fileprivate var byteCount: Int {
    switch self {
    case .put(_, let key, let value): key.count + value.count
    case .delete(_, let key): key.count
    case .clear(_, let from, let to): from.count + to.count
    }
  }
}
