#if GRPC
  import GRPCCore
  import GRPCNIOTransportHTTP2Posix
  import NIOCore
  import Synchronization

  /// A channel of gRPC and the calls that are open on it.
  final class GRPCChannel: Sendable {
    private struct State {
      var calls = 0
      var hasFailed = false
    }

    let client: GRPCClient<HTTP2ClientTransport.Posix>
    let connections: OpenConnections
    private let running: Task<Void, Never>
    private let state = Mutex(State())

    /// A channel, which connects when a call needs it.
    init(_ client: GRPCClient<HTTP2ClientTransport.Posix>, _ connections: OpenConnections) {
      self.client = client
      self.connections = connections
      running = Task { try? await client.runConnections() }
    }

    /// A call is open.
    func opened() { state.withLock { $0.calls += 1 } }

    /// A call that was open has ended.
    func ended() { change { $0.calls -= 1 } }

    /// It is of no use any more: it ends with the last open call.
    func fail() {
      client.beginGracefulShutdown()
      change { $0.hasFailed = true }
    }

    /// gRPC would wait for a connection that is not ready for as long as the server keeps silent.
    private func change(_ body: (inout State) -> Void) {
      let isOver = state.withLock { state in
        body(&state)
        return state.hasFailed && state.calls == 0
      }
      if isOver { running.cancel() }
    }
  }

  /// Whether a call has been opened on a channel, which counts it until it ends.
  final class CallOpening: Sendable {
    private let channel: GRPCChannel
    /// The connections that stood when it was opened; nil before.
    private let connections = Mutex<[any Channel]?>(nil)

    init(on channel: GRPCChannel) { self.channel = channel }

    /// Whether the call has been opened.
    var isOver: Bool { connections.withLock { $0 != nil } }

    /// Whether a connection stands on which it may have been opened: one that was made since says nothing of it.
    ///
    /// A connection that breaks ends its calls before it is closed itself: what its thread is about just now is waited for.
    var isConnected: Bool {
      get async {
        let connections = connections.withLock { $0 ?? [] }
        for channel in connections { _ = try? await channel.eventLoop.submit {}.get() }
        return connections.contains { $0.isActive }
      }
    }

    /// The call is open; it may be told more than once.
    func opened() {
      let standing = channel.connections.standing
      let isFirst = connections.withLock { known in
        defer { known = known ?? standing }
        return known == nil
      }
      if isFirst { channel.opened() }
    }

    /// The call has ended, once.
    func ended() { if isOver { channel.ended() } }
  }
#endif
