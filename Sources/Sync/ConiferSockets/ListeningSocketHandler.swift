#if WebSocket || GRPC
  package import NIOCore

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Ends a listening socket where it is closed, also for a process that this one has started: SwiftNIO opens sockets that
  /// child processes inherit, and a port answers for as long as any of them has its socket.
  package final class ListeningSocketHandler: ChannelOutboundHandler {
    package typealias OutboundIn = NIOAny

    package init() {}

    /// Adds it to a listening channel: for `serverChannelInitializer`.
    package static func add(to channel: any Channel) -> EventLoopFuture<Void> {
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(ListeningSocketHandler())
      }
    }

    package func handlerAdded(context: ChannelHandlerContext) {
      context.channel.keepFromChildren()
    }

    package func close(
      context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
    ) {
      // A child that has not executed its program yet has the socket whatever its flags say. Systems other than Linux may
      // refuse this; closing it must do there.
      context.channel.withSocket { _ = shutdown($0, Int32(SHUT_RDWR)) }
      context.close(mode: mode, promise: promise)
    }
  }

  extension Channel {
    /// Programs that this process starts do not get the channel's socket: a connection would not end for the other side
    /// while they have it. To be called on the channel's event loop.
    package func keepFromChildren() { withSocket { _ = fcntl($0, F_SETFD, FD_CLOEXEC) } }

    fileprivate func withSocket(_ body: (NIOBSDSocket.Handle) -> Void) {
      // One that is closed already has none.
      _ = try? pipeline.syncOperations.withUnsafeTransportIfAvailable(
        of: NIOBSDSocket.Handle.self, body)
    }
  }
#endif
