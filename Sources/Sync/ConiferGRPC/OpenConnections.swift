#if GRPC
  import ConiferSockets
  import NIOCore
  import Synchronization

  /// The connections of a channel of gRPC, which itself does not tell whether a status is the server's or stands for a
  /// connection that broke.
  final class OpenConnections: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    /// Whether there is one that stands, as far as is known here.
    var areOpen: Bool { channels.withLock { $0.values.contains { $0.isActive } } }

    /// Notes a connection until it is closed, and keeps it from child processes.
    func add(_ channel: any Channel) -> EventLoopFuture<Void> {
      let id = ObjectIdentifier(channel)
      channels.withLock { $0[id] = channel }
      channel.closeFuture.whenComplete { [self] _ in channels.withLock { $0[id] = nil } }
      return channel.eventLoop.submit { channel.keepFromChildren() }
    }
  }
#endif
