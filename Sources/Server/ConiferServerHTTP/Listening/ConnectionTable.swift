#if Network
  import ConiferServer
  import NIOCore
  import Synchronization

  /// The open connections, and the memory that is held for them.
  final class ConnectionTable: Sendable {
    private struct State {
      var channels: [ObjectIdentifier: any Channel] = [:]
      var isStopping = false
      var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let limits: HTTPServerLimits
    private let state = Mutex(State())
    private let memory: MemoryBudget

    init(_ limits: HTTPServerLimits) {
      self.limits = limits
      memory = MemoryBudget(limits.total)
    }

    /// How many connections are open.
    var count: Int { state.withLock { $0.channels.count } }

    /// The open connections, in no order.
    var open: [any Channel] { state.withLock { Array($0.channels.values) } }

    /// The bytes that are held for all connections, and for the requests of those that have ended and
    /// are still handled.
    var bytes: Int { memory.bytes }

    /// Whether the server accepts no more connections.
    var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Admits a connection, if there is room, until it closes.
    func admit(_ channel: any Channel) -> Bool {
      let id = ObjectIdentifier(channel)
      let isAdmitted = state.withLock { state in
        if state.isStopping || state.channels.count >= limits.connections { return false }
        state.channels[id] = channel
        return true
      }
      if isAdmitted { channel.closeFuture.whenComplete { _ in self.remove(id) } }
      return isAdmitted
    }

    private func remove(_ id: ObjectIdentifier) {
      let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
        state.channels[id] = nil
        if !state.channels.isEmpty { return [] }
        defer { state.waiters = [] }
        return state.waiters
      }
      for waiter in waiters { waiter.resume() }
    }

    /// Accepts no more connections, and returns the open ones.
    func stop() -> [any Channel] {
      state.withLock { state in
        state.isStopping = true
        return Array(state.channels.values)
      }
    }

    /// Returns when no connection is open.
    func drained() async {
      await withCheckedContinuation { continuation in
        let isEmpty = state.withLock { state in
          if !state.channels.isEmpty { state.waiters.append(continuation) }
          return state.channels.isEmpty
        }
        if isEmpty { continuation.resume() }
      }
    }

    /// A share of the memory that all connections may hold.
    func share() -> MemoryShare { MemoryShare(of: memory) }
  }
#endif
