#if GRPC
  import ConiferWire
  import Synchronization

  /// The calls that are open: so many, and none any more once the server stops.
  final class CallTable: Sendable {
    private struct State {
      var isStopped = false
      var last: UInt64 = 0
      /// How each call that has no end of its own is ended; nil of those that end by themselves.
      var ends: [UInt64: (@Sendable (StatusError) -> Void)?] = [:]
    }

    private let most: Int
    private let state = Mutex(State())

    init(atMost most: Int) { self.most = most }

    /// How many calls are open.
    var count: Int { state.withLock { $0.ends.count } }

    /// Counts a call, until `end`.
    ///
    /// - Parameter end: ends it when the server stops; nil for a call that ends by itself.
    /// - Returns: its number.
    /// - Throws: `resourceExhausted` while too many are open, `unavailable` once the server stops.
    func begin(_ end: (@Sendable (StatusError) -> Void)?) throws(StatusError) -> UInt64 {
      let result = state.withLock { state -> Result<UInt64, StatusError> in
        if state.isStopped { return .failure(Self.stopped) }
        guard state.ends.count < most else {
          return .failure(
            StatusError(
              .resourceExhausted, "\(most) calls are open, which is the most. Try again later."))
        }
        state.last += 1
        state.ends.updateValue(end, forKey: state.last)
        return .success(state.last)
      }
      return try result.get()
    }

    /// A call has ended.
    func end(_ number: UInt64) { state.withLock { _ = $0.ends.removeValue(forKey: number) } }

    /// Ends all calls that do not end by themselves, and takes no more.
    func stop() {
      let ends = state.withLock { state in
        state.isStopped = true
        return state.ends.values.compactMap { $0 }
      }
      for end in ends { end(Self.stopped) }
    }

    private static let stopped = StatusError(
      .unavailable, "The server is shutting down. Try again later.")
  }
#endif
