internal import ConiferKeyValue
internal import Synchronization

/// What a store does wrong with its life, its owner, its sizes, and what it says of itself.
enum LifeFault: Sendable {
  /// Nothing happens when it is suspended.
  case ignoresSuspension
  /// It refuses while it is suspended, and keeps its files and locks.
  case keepsLocks
  /// The newest commit is gone after it was suspended.
  case forgetsAtSuspending
  /// A second opener gets the store too.
  case letsTwoIn
  /// A second opener is not told who owns it.
  case hidesOwner
  /// A newest commit at `.relaxed` is gone after an orderly close.
  case forgetsAtClosing
  /// A commit after the close is acknowledged.
  case answersAfterClose
  /// Tidying takes the newest commit back.
  case tidyingLosesCommit
  /// Hardening takes the newest commit back.
  case hardeningLosesCommit
  /// A hundredth of what is live is counted.
  case countsTooLittle
  /// What is live never becomes less.
  case neverShrinks
  /// Space that was used is not used again.
  case neverGivesBack
  /// Traits change with the commits.
  case changesTraits
  /// It is declared to write far more at a commit than it does.
  case overstatesQuantum
  /// A sound store has findings.
  case inventsFindings
  /// A sound store is found damaged.
  case inventsDamage
  /// A sound store says that it must not be read.
  case deniesReading
  /// To close it once more fails.
  case failsSecondClose

  /// How many times too large an overstated number is.
  static let overstatement = 4096

  var keeps: MutationHistory.Kept {
    switch self {
    case .forgetsAtSuspending, .forgetsAtClosing, .tidyingLosesCommit, .hardeningLosesCommit: .undo
    default: .nothing
    }
  }

  /// Whether it shows in a store alone that keeps its data.
  var needsFiles: Bool {
    switch self {
    case .letsTwoIn, .hidesOwner, .keepsLocks, .forgetsAtClosing, .overstatesQuantum,
      .inventsFindings, .inventsDamage, .deniesReading:
      true
    default: false
    }
  }
}

extension MutatedStore {
  /// Makes a commit, and notes what the fault needs.
  func commit(
    _ batch: Batch, _ durability: Durability, _ fault: LifeFault
  ) throws(StoreError) -> CommitID {
    if fault == .neverGivesBack {
      state.withLock { $0.waste += 1000 * batch.edits.count }
      site.happened()
    }
    do throws(StoreError) {
      return try base.apply(try remembering(batch), durability)
    } catch {
      guard fault == .answersAfterClose, error.code == .closed else { throw error }
      site.happened()
      return nextCommit
    }
  }

  func suspend(_ fault: LifeFault) throws(StoreError) {
    switch fault {
    case .ignoresSuspension:
      _ = try base.size()
      site.happened()
    case .keepsLocks:
      _ = try base.size()
      site.happened()
      state.withLock { $0.pretends = true }
    case .forgetsAtSuspending:
      // A store that is suspended already remembers nothing more.
      try? undo()
      try base.suspend()
    default: try base.suspend()
    }
  }

  /// The sizes that are told instead.
  func mutated(_ size: StoreSize, _ fault: LifeFault) -> StoreSize {
    var size = size
    switch fault {
    case .countsTooLittle:
      site.happened()
      size.live /= 100
    case .neverShrinks:
      let most = state.withLock { state in
        state.live = max(state.live, size.live)
        return state.live
      }
      if most > size.live { site.happened() }
      size.file += most - size.live
      size.live = most
    case .neverGivesBack:
      let waste = state.withLock { $0.waste }
      size.free += waste
      size.file += waste
    default: break
    }
    return size
  }
}
