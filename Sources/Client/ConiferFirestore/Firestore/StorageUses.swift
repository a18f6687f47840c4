import Synchronization

/// The uses of one storage by the databases that an app reaches by one name, one after the other: their engines, and the
/// removals of what is kept.
final class StorageUses: Sendable {
  private struct State {
    var hasEngine = false
    /// What the next one to open the storage waits for; nil when nothing was opened.
    var last: StorageUse?
  }

  private let state = Mutex(State())

  /// An engine opens the storage.
  ///
  /// - Returns: what it follows; nil for nothing.
  func beginEngine() -> StorageUse? {
    state.withLock { state in
      state.hasEngine = true
      return state.last
    }
  }

  /// The end of the engine begins; gives the use that lasts until then.
  func endEngine() -> StorageUse {
    state.withLock { state in
      let use = StorageUse()
      (state.hasEngine, state.last) = (false, use)
      return use
    }
  }

  /// Begins a removal, which follows the use before it; one that comes later follows it.
  ///
  /// - Returns: nil while an engine is at work, of whichever of the databases.
  func beginRemoval() -> (before: StorageUse?, use: StorageUse)? {
    state.withLock { state in
      guard !state.hasEngine else { return nil }
      let use = StorageUse()
      defer { state.last = use }
      return (state.last, use)
    }
  }
}
