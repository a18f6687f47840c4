#if Network
  import ArgumentParser
  import ConiferSockets
  import NIOCore
  import NIOPosix
  import Synchronization
  import UnixSignals

  /// The process that simulates the network of a demo: it relays bytes to the server, and is killed when the network is
  /// cut.
  ///
  /// Its first line is the port that it listens at. Prompted, it loses from then on all that the server says, and says
  /// so.
  struct DemoRelayCommand: ToolCommand {
    static let configuration = CommandConfiguration(
      commandName: "demo-relay",
      abstract: "The process that simulates the network of a demo.",
      shouldDisplay: false)

    /// What it says once it loses what the server says.
    static let losing = "losing"

    @Option var port = 0
    @Option var to: Int

    func run(_ console: Console) async throws {
      let group = MultiThreadedEventLoopGroup.singleton
      let to = to
      let loss = AnswerLoss()
      let prompts = await UnixSignalsSequence(trapping: .sigusr1)
      let listener = try await ServerBootstrap(group: group)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .serverChannelInitializer { ListeningSocketHandler.add(to: $0) }
        // Reading begins only when there is a connection to pass the bytes on to.
        .childChannelOption(.autoRead, value: false)
        .childChannelInitializer { client in
          client.keepFromChildren()
          return ClientBootstrap(group: client.eventLoop)
            .channelOption(.autoRead, value: false)
            .channelInitializer { server in
              server.eventLoop.makeCompletedFuture { server.keepFromChildren() }
            }
            .connect(host: "127.0.0.1", port: to)
            .flatMapThrowing { server in
              try client.pipeline.syncOperations.addHandler(RelayHandler(to: server))
              try server.pipeline.syncOperations.addHandler(RelayHandler(to: client, loss))
              _ = client.setOption(.autoRead, value: true)
              _ = server.setOption(.autoRead, value: true)
            }
        }
        .bind(host: "127.0.0.1", port: port).get()
      try console.print("\(listener.localAddress?.port ?? 0)")
      // The parent process ends this one; if the parent dies, this one is not needed any more.
      let parent = Platform.parent
      Task {
        for await _ in prompts {
          loss.begin()
          try console.print(Self.losing)
        }
      }
      while Platform.parent == parent { try await Task.sleep(for: .seconds(1)) }
    }
  }

  /// Whether what the server says gets lost.
  private final class AnswerLoss: Sendable {
    private let state = Atomic(false)

    var isOn: Bool { state.load(ordering: .acquiring) }
    func begin() { state.store(true, ordering: .releasing) }
  }

  /// Passes on what comes to the other side, and its end.
  private final class RelayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let loss: AnswerLoss?

    /// - Parameter loss: tells whether what comes gets lost; nil where it never does.
    init(to other: any Channel, _ loss: AnswerLoss? = nil) {
      self.other = other
      self.loss = loss
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      if let loss, loss.isOn { return }
      other.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }
  }
#endif
