#if Network
  import NIOCore
  import NIOPosix
  import Synchronization
  import TestSupport

  /// A network between clients and a server, which goes wrong as a seed says, a given number of times,
  /// and is in order then.
  package final class FaultyProxy: Sendable {
    /// How a connection goes wrong.
    struct Fault: Sendable {
      /// After how many bytes of both directions nothing more arrives.
      let bytes: Int
      /// Whether that is noticed at once; otherwise the connection stands for a while, and everything is
      /// lost.
      let isCut: Bool
      /// The longest piece in which bytes arrive.
      let piece: Int
      /// The most milliseconds by which a piece is late.
      let delay: Int64
    }

    /// What passed.
    package struct Counts: Sendable {
      package var connections = 0
      package var faults = 0
      package var toClients = 0
    }

    private struct State: Sendable {
      var target: Int
      var random: Seeded
      var faults: Int
      var counts = Counts()
      var links: [ObjectIdentifier: Link] = [:]
    }

    private let channel = Mutex<(any Channel)?>(nil)
    private let state: Mutex<State>

    /// A network to a port of the loopback.
    ///
    /// - Parameters:
    ///   - target: the server's port.
    ///   - seed: decides how connections go wrong.
    ///   - faults: how many do.
    package init(to target: Int, seed: UInt64 = 0, faults: Int = 0) async throws {
      state = Mutex(State(target: target, random: Seeded(seed), faults: faults))
      let made = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .childChannelInitializer { client in
          client.eventLoop.makeCompletedFuture {
            let link = Link(self, client, self.fault())
            try client.pipeline.syncOperations.addHandler(End(link, isClient: true))
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      channel.withLock { $0 = made }
    }

    deinit { channel.withLock { $0 }?.close(promise: nil) }

    /// Where clients connect to.
    package var port: Int { channel.withLock { $0 }?.localAddress?.port ?? 0 }

    package var counts: Counts { state.withLock { $0.counts } }

    /// Leads new connections to another port.
    package func lead(to target: Int) { state.withLock { $0.target = target } }

    /// Cuts all connections; nothing goes through them afterwards.
    package func cut() async throws {
      for link in state.withLock({ Array($0.links.values) }) { try await link.cut() }
    }

    private func fault() -> Fault? {
      state.withLock { state in
        state.counts.connections += 1
        guard state.faults > 0 else { return nil }
        state.faults -= 1
        state.counts.faults += 1
        return Fault(
          bytes: Int.random(in: 100...6000, using: &state.random),
          isCut: Int.random(in: 0..<4, using: &state.random) > 0,
          piece: Int.random(in: 1...700, using: &state.random),
          delay: Int64.random(in: 0...4, using: &state.random))
      }
    }

    fileprivate var target: Int { state.withLock { $0.target } }

    fileprivate func note(_ link: Link, isOpen: Bool) {
      state.withLock { $0.links[ObjectIdentifier(link)] = isOpen ? link : nil }
    }

    fileprivate func count(toClients bytes: Int) {
      state.withLock { $0.counts.toClients += bytes }
    }
  }

  /// One connection through the proxy; it is used on the loop of its client's channel alone.
  private final class Link: @unchecked Sendable {
    private let proxy: FaultyProxy
    private let client: any Channel
    private var server: (any Channel)?
    /// What came before the server's channel was there.
    private var early: [ByteBuffer] = []
    private let fault: FaultyProxy.Fault?
    private var passed = 0
    /// When the last piece of each direction arrives, so that order is kept.
    private var due: [Bool: NIODeadline] = [:]
    private var isLost = false

    init(_ proxy: FaultyProxy, _ client: any Channel, _ fault: FaultyProxy.Fault?) {
      self.proxy = proxy
      self.client = client
      self.fault = fault
    }

    func begin() {
      proxy.note(self, isOpen: true)
      ClientBootstrap(group: client.eventLoop)
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .channelInitializer { server in
          server.eventLoop.makeCompletedFuture {
            try server.pipeline.syncOperations.addHandler(End(self, isClient: false))
          }
        }
        .connect(host: "127.0.0.1", port: proxy.target)
        .whenComplete { result in
          guard case .success(let server) = result else { return self.end() }
          self.server = server
          for bytes in self.early { self.pass(bytes, toServer: true) }
          self.early = []
        }
    }

    func pass(_ bytes: ByteBuffer, toServer: Bool) {
      var bytes = bytes
      if isLost { return }
      guard let to = toServer ? server : client else { return early.append(bytes) }
      guard let fault else {
        if !toServer { proxy.count(toClients: bytes.readableBytes) }
        return to.writeAndFlush(bytes, promise: nil)
      }
      while bytes.readableBytes > 0, !isLost {
        let length = min(bytes.readableBytes, fault.piece, max(0, fault.bytes - passed))
        guard let piece = bytes.readSlice(length: length), length > 0 else {
          isLost = true
          break
        }
        passed += length
        let at = max(due[toServer] ?? .now(), .now()) + .milliseconds(fault.delay)
        due[toServer] = at
        client.eventLoop.scheduleTask(deadline: at) { to.writeAndFlush(piece, promise: nil) }
      }
      // What is under way arrives before the cut.
      guard isLost else { return }
      let at = (due.values.max() ?? .now()) + .milliseconds(fault.isCut ? 1 : 200)
      client.eventLoop.scheduleTask(deadline: at) { self.end() }
    }

    func cut() async throws { try await client.eventLoop.submit { self.end() }.get() }

    func end() {
      proxy.note(self, isOpen: false)
      client.close(promise: nil)
      server?.close(promise: nil)
    }
  }

  private final class End: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let link: Link
    private let isClient: Bool

    init(_ link: Link, isClient: Bool) {
      self.link = link
      self.isClient = isClient
    }

    func channelActive(context: ChannelHandlerContext) { if isClient { link.begin() } }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      link.pass(unwrapInboundIn(data), toServer: isClient)
    }

    func channelInactive(context: ChannelHandlerContext) { link.end() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { link.end() }
  }
#endif
