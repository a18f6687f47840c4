#if GRPC
  import Foundation
  import Synchronization

  /// Tells when each of some listeners has heard what it waits for.
  final class Goal: Sendable {
    private struct State {
      var missing: Set<Int>
      var last = ContinuousClock.now
      var fault: String?
      var waiter: CheckedContinuation<Void, Never>?
      var isOver: Bool { missing.isEmpty || fault != nil }
    }

    private let state: Mutex<State>

    /// - Parameter count: how many listeners there are, from 0.
    init(_ count: Int) { state = Mutex(State(missing: Set(0..<count))) }

    /// A listener has heard it.
    func reach(_ listener: Int) { change { $0.missing.remove(listener) } }

    /// A listener was told an error.
    func fail(_ error: any Error) { change { $0.fault = "\(error)" } }

    private func change(_ body: (inout State) -> Void) {
      let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
        guard !state.isOver else { return nil }
        body(&state)
        guard state.isOver else { return nil }
        state.last = .now
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume()
    }

    /// Waits for all of them.
    ///
    /// - Returns: when the last one heard it.
    /// - Throws: when a listener was told an error, and when it takes a quarter of an hour.
    func wait(_ what: String) async throws -> ContinuousClock.Instant {
      let watch = Task {
        try await Task.sleep(for: .seconds(900))
        change { $0.fault = "\(what) took too long, \($0.missing.count) listeners wait" }
      }
      defer { watch.cancel() }
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if !state.isOver { state.waiter = continuation }
          return state.isOver
        }
        if isOver { continuation.resume() }
      }
      let (last, fault) = state.withLock { ($0.last, $0.fault) }
      if let fault { throw BenchmarkFailure.lost("a listener", fault) }
      return last
    }
  }
#endif
