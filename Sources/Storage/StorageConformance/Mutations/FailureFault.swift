internal import ConiferKeyValue
internal import Synchronization

/// What a store does wrong with calls that fail.
enum FailureFault: Sendable {
  /// Of a batch with a key that is too long, what comes before that key is done.
  case keepsHalfOfTooLarge
  /// A key that is too long is stored without its end.
  case cutsTooLongKeys
  /// The longest key is refused.
  case refusesLongestKey
  /// The first commit that fails is acknowledged.
  case swallowsCommits
  /// Every commit that fails because of the disk is acknowledged.
  case swallowsAll
  /// The store opens itself anew after a failure, and makes the commit again.
  case forgetsPoison
  /// The store takes commits again once it was suspended and resumed.
  case resumingCures
  /// On a full disk batches that free space are refused like others.
  case hoardsReserve
  /// What comes before the key that is too long is done with the next batch.
  case defersHalfOfTooLarge
  /// Hardening that failed returns.
  case swallowsHardening
  /// Closing that failed returns.
  case swallowsClosing
  /// Suspending that failed returns.
  case swallowsSuspending
  /// An error of the disk is told as damage.
  case criesDamage

  /// Whether it is about keys, not about disks.
  var isOfKeys: Bool {
    switch self {
    case .keepsHalfOfTooLarge, .defersHalfOfTooLarge, .cutsTooLongKeys, .refusesLongestKey: true
    default: false
    }
  }
}

extension MutatedStore {
  /// A number for a commit that the store below has not made.
  var nextCommit: CommitID { state.withLock { CommitID(rawValue: $0.last.rawValue + 1) } }

  /// Makes a commit, and does the wrong thing when it fails.
  func commit(
    _ batch: Batch, _ durability: Durability, _ fault: FailureFault
  ) throws(StoreError) -> CommitID {
    let longest = base.traits.longestKey
    func isTooLong(_ edit: Batch.Edit) -> Bool {
      if case .put(_, let key, _) = edit { key.count > longest } else { false }
    }
    switch fault {
    case .keepsHalfOfTooLarge:
      guard let place = batch.edits.firstIndex(where: isTooLong) else { break }
      site.happened()
      try base.apply(batch.with(batch.edits[..<place]), durability)
    case .cutsTooLongKeys:
      guard batch.edits.contains(where: isTooLong) else { break }
      site.happened()
      let edits = batch.edits.map { (edit: Batch.Edit) -> Batch.Edit in
        guard case .put(let space, let key, let value) = edit else { return edit }
        return .put(space, key: Bytes(key.prefix(longest)), value: value)
      }
      return try base.apply(batch.with(edits), durability)
    case .refusesLongestKey:
      for case .put(_, let key, _) in batch.edits where key.count == longest {
        site.happened()
        throw StoreError(.tooLarge, "The key is too long; shorten it.")
      }
    case .defersHalfOfTooLarge:
      let half = state.withLock { state in
        defer { state.half = [] }
        return state.half
      }
      if let place = batch.edits.firstIndex(where: isTooLong) {
        state.withLock { $0.half = Array(batch.edits[..<place]) }
      }
      guard !half.isEmpty else { break }
      site.happened()
      return try base.apply(batch.with(half + batch.edits), durability)
    case .hoardsReserve where batch.frees || !batch.edits.contains(where: \.isPut):
      var ordinary = batch.with(batch.edits + [MutationHistory.closing])
      ordinary.frees = false
      do throws(StoreError) {
        return try base.apply(ordinary, durability)
      } catch {
        if error.code == .full { site.happened() }
        throw error
      }
    default: break
    }
    do throws(StoreError) {
      return try base.apply(batch, durability)
    } catch {
      guard error.isOfDisk else { throw error }
      let isFirst = state.withLock { state in
        defer { if error.code != .full { state.isPoisoned = true } }
        return !state.isPoisoned
      }
      switch fault {
      case .swallowsCommits where isFirst && error.code != .full:
        site.happened()
        return nextCommit
      case .swallowsAll where error.code != .full:
        site.happened()
        return nextCommit
      case .forgetsPoison where error.code != .full:
        try openAnew()
        site.happened()
        return try base.apply(batch, durability)
      case .criesDamage where error.code == .io:
        site.happened()
        throw StoreError(.damaged, error.message)
      default: break
      }
      throw error
    }
  }
}
