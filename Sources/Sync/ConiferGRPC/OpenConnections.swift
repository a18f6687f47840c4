#if GRPC
  import ConiferSockets
  import NIOCore
  import Synchronization

  /// The connections of a channel of gRPC, which itself does not tell whether a status is the server's or stands for a
  /// connection that broke.
  final class OpenConnections: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    /// Those that stand, as far as is known here.
    var standing: [any Channel] { channels.withLock { $0.values.filter(\.isActive) } }

    /// Notes a connection until it is closed, and keeps it from child processes.
    func add(_ channel: any Channel) -> EventLoopFuture<Void> {
      let id = ObjectIdentifier(channel)
      channels.withLock { $0[id] = channel }
      channel.closeFuture.whenComplete { [self] _ in channels.withLock { $0[id] = nil } }
      return channel.eventLoop.submit { channel.keepFromChildren() }
    }
  }
#endif
