#if GRPC
  import Synchronization

  /// Calls of which each begins when the one before it has ended.
  final class SerialCalls: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    /// Makes a call once all that were added before have ended.
    ///
    /// - Returns: the call, which ends once it is cancelled and its turn has come.
    func add(_ call: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
      last.withLock { last in
        let task = Task { [before = last] in
          await before?.value
          await call()
        }
        last = task
        return task
      }
    }
  }
#endif
