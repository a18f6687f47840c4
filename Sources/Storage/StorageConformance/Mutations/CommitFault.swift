internal import ConiferKeyValue
internal import Synchronization

/// What a store does wrong with commits, their levels and numbers.
enum CommitFault: Sendable {
  /// Every so many batches of several edits are two commits.
  case halves(every: Int)
  /// A batch of several spaces is a commit for the first one, and some time later one for the others.
  case spaceBySpace
  /// Nothing is synced: neither commits at `.power`, nor when they are hardened.
  case neverSyncs
  /// Commits at `.power` are not synced.
  case commitsNeverSync
  /// An empty batch at `.power` syncs nothing.
  case emptyNeverSyncs
  /// Commits at `.power` are synced at the next call.
  case commitsSyncLate
  /// After so many commits nothing is synced.
  case tires(after: Int)
  case hardensNothing
  /// What is hardened is synced at the next call.
  case hardensLate
  /// Closing syncs nothing.
  case closesUnsynced
  /// Suspending syncs nothing.
  case suspendsUnsynced
  /// A level above the strongest one is taken as that one.
  case takesEveryLevel
  case refusesStrongest
  /// Every third commit has its predecessor's number.
  case repeatsNumbers
  /// Numbers begin with 1 again after it was resumed.
  case beginsNumbersAnew

  /// Whether only a power loss shows it.
  var isOfPower: Bool {
    switch self {
    case .neverSyncs, .commitsNeverSync, .emptyNeverSyncs, .commitsSyncLate, .tires,
      .hardensNothing, .hardensLate, .closesUnsynced, .suspendsUnsynced:
      true
    default: false
    }
  }

  /// Whether it shows in a store alone that keeps its data.
  var needsFiles: Bool {
    if case .halves = self { true } else { isOfPower }
  }
}

extension MutatedStore {
  /// Makes a commit in a wrong way.
  ///
  /// - Parameter number: which commit it is since the store was opened.
  func commit(
    _ batch: Batch, _ durability: Durability, _ number: Int, _ fault: CommitFault
  ) throws(StoreError) -> CommitID {
    let edits = batch.edits
    switch fault {
    case .halves(let every):
      guard edits.count > 1, isTurn(every) else { break }
      site.happened()
      try base.apply(batch.with(edits[..<(edits.count / 2)]), durability)
      return try base.apply(batch.with(edits[(edits.count / 2)...]), durability)
    case .spaceBySpace:
      guard let first = edits.first?.space, edits.contains(where: { $0.space != first }) else {
        break
      }
      site.happened()
      try base.apply(batch.with(edits.filter { $0.space == first }), durability)
      // Long enough for a reader to come in between.
      System.pause()
      return try base.apply(batch.with(edits.filter { $0.space != first }), durability)
    case .neverSyncs, .commitsNeverSync: return try commitUnsynced(batch, durability)
    case .emptyNeverSyncs where edits.isEmpty: return try commitUnsynced(batch, durability)
    case .tires(let count) where number > count: return try commitUnsynced(batch, durability)
    case .commitsSyncLate where durability == .power:
      let commit = try commitUnsynced(batch, durability)
      state.withLock { $0.late = commit }
      return commit
    case .takesEveryLevel:
      let strongest = base.traits.strongest
      if durability > strongest { site.happened() }
      return try base.apply(batch, min(durability, strongest))
    case .refusesStrongest where durability == base.traits.strongest:
      site.happened()
      throw StoreError(.unsupported, "The store takes no commit at .\(durability); ask for less.")
    case .repeatsNumbers:
      let last = state.withLock { $0.last }
      let commit = try base.apply(batch, durability)
      guard number % 3 == 0 else { return commit }
      site.happened()
      return last
    case .beginsNumbersAnew:
      let first = state.withLock { $0.first }
      if first > 0 { site.happened() }
      let commit = try base.apply(batch, durability)
      return CommitID(rawValue: commit.rawValue - min(first, commit.rawValue))
    default: break
    }
    return try base.apply(batch, durability)
  }

  /// Makes a commit that survives the death of the process at most.
  private func commitUnsynced(
    _ batch: Batch, _ durability: Durability
  ) throws(StoreError) -> CommitID {
    if durability == .power { site.happened() }
    return try base.apply(batch, min(durability, .process))
  }

  /// Hardens in a wrong way.
  func harden(_ upTo: CommitID, _ fault: CommitFault) throws(StoreError) {
    switch fault {
    case .neverSyncs, .hardensNothing: site.happened()
    case .tires(let count) where state.withLock({ $0.commits }) > count: site.happened()
    case .hardensLate:
      site.happened()
      state.withLock { $0.late = upTo }
    // Its numbers are not those of the store below.
    case .beginsNumbersAnew: try base.harden(CommitID(rawValue: .max))
    default: try base.harden(upTo)
    }
  }
}
