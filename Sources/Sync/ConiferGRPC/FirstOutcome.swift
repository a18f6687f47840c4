#if GRPC
  import Synchronization

  /// What comes of something that may end in several ways: the first of them counts.
  final class FirstOutcome<Value: Sendable>: Sendable {
    private enum State {
      case open([CheckedContinuation<Result<Value, any Error>, Never>])
      case settled(Result<Value, any Error>)
    }

    private let state = Mutex(State.open([]))

    /// The first outcome, once there is one.
    var value: Result<Value, any Error> {
      get async {
        await withCheckedContinuation { continuation in
          let known = state.withLock { state -> Result<Value, any Error>? in
            switch state {
            case .open(let waiting):
              state = .open(waiting + [continuation])
              return nil
            case .settled(let result): return result
            }
          }
          if let known { continuation.resume(returning: known) }
        }
      }
    }

    /// It has ended in some way; nothing happens when it had already.
    func settle(_ result: Result<Value, any Error>) {
      let waiting = state.withLock {
        state -> [CheckedContinuation<Result<Value, any Error>, Never>] in
        guard case .open(let waiting) = state else { return [] }
        state = .settled(result)
        return waiting
      }
      for continuation in waiting { continuation.resume(returning: result) }
    }
  }
#endif
