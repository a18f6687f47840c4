import ConiferKeyValue
import ConiferStorage

extension LogStore {
  struct Opened {
    let lock: OwnerLock?
    let engine: Engine
  }

  enum Phase {
    case open(Opened)
    case suspended
    case closed
  }

  struct State {
    var phase: Phase
    var commit: UInt64 = 0
    /// The oldest commit that may not survive power loss; what opening found counts as commit 0.
    var oldestUnsynced: UInt64? = 0
    /// The error that blocks commits until the store is reopened; suspending does not clear it.
    var poison: StoreError?

    /// The engine of an open store that is sound.
    func engine() throws(StoreError) -> Engine {
      switch phase {
      case .open(let opened):
        if let poison = poison ?? opened.engine.poison { throw Self.refusal(poison) }
        return opened.engine
      case .suspended: throw StoreError.storeSuspended
      case .closed: throw StoreError.storeClosed
      }
    }

    static func refusal(_ cause: StoreError) -> StoreError {
      StoreError(
        .poisoned,
        "A write or sync failed earlier, so the state of the disk is unknown. "
          + "Close the store and open it again.", cause: cause.description)
    }
  }

  /// The state that reading threads see, which do not take the writer's lock.
  enum ReadState {
    case open(Published, LogLease)
    case suspended
    case closed
  }
}
