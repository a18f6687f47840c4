#if Network
  import ArgumentParser
  import NIOCore
  import NIOPosix

  /// The process that simulates the network of the client demo: it relays bytes to the server, and
  /// is killed when the network is cut.
  ///
  /// Its only line is the port that it listens at.
  struct DemoRelayCommand: ToolCommand {
    static let configuration = CommandConfiguration(
      commandName: "demo-relay",
      abstract: "The process that simulates the network of the client demo.",
      shouldDisplay: false)

    @Option var port = 0
    @Option var to: Int

    func run(_ console: Console) async throws {
      let group = MultiThreadedEventLoopGroup.singleton
      let to = to
      let listener = try await ServerBootstrap(group: group)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        // Nothing is read before there is somewhere to pass it on to.
        .childChannelOption(.autoRead, value: false)
        .childChannelInitializer { client in
          ClientBootstrap(group: client.eventLoop)
            .channelOption(.autoRead, value: false)
            .connect(host: "127.0.0.1", port: to)
            .flatMapThrowing { server in
              try client.pipeline.syncOperations.addHandler(RelayHandler(to: server))
              try server.pipeline.syncOperations.addHandler(RelayHandler(to: client))
              _ = client.setOption(.autoRead, value: true)
              _ = server.setOption(.autoRead, value: true)
            }
        }
        .bind(host: "127.0.0.1", port: port).get()
      try console.print("\(listener.localAddress?.port ?? 0)")
      // The parent process ends this one; if the parent dies, this one is not needed any more.
      let parent = Platform.parent
      while Platform.parent == parent { try await Task.sleep(for: .seconds(1)) }
    }
  }

  /// Passes on what comes to the other side, and its end.
  private final class RelayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel

    init(to other: any Channel) { self.other = other }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      other.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }
  }
#endif
