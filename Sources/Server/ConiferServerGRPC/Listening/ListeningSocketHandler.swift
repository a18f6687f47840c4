#if GRPC
  import NIOCore

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Ends a listening socket where it is closed, also for a process that this one has started: SwiftNIO opens sockets that
  /// child processes inherit, and a port answers for as long as any of them has its socket.
  final class ListeningSocketHandler: ChannelOutboundHandler {
    typealias OutboundIn = NIOAny

    func handlerAdded(context: ChannelHandlerContext) {
      Self.keepFromChildren(context.channel)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      // A child that has not executed its program yet has the socket whatever its flags say. Systems other than Linux may
      // refuse this; closing it must do there.
      Self.withSocket(of: context.channel) { _ = shutdown($0, Int32(SHUT_RDWR)) }
      context.close(mode: mode, promise: promise)
    }

    /// Programs that this process starts do not get a channel's socket. To be called on the channel's event loop.
    static func keepFromChildren(_ channel: any Channel) {
      withSocket(of: channel) { _ = fcntl($0, F_SETFD, FD_CLOEXEC) }
    }

    private static func withSocket(of channel: any Channel, _ body: (NIOBSDSocket.Handle) -> Void) {
      // One that is closed already has none.
      _ = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
        of: NIOBSDSocket.Handle.self, body)
    }
  }
#endif
