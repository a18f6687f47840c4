#if GRPC
  import Foundation

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Darwin)
    import Darwin
  #endif

  /// A server that begins to speak HTTP/2, or does not even that, and then reads and says nothing.
  final class SilentServer: Sendable {
    let port: Int
    private let file: Int32

    init(speaks: Bool = true) throws {
      (file, port) = try Sockets.listen()
      let file = file
      Thread.detachNewThread {
        let connection = accept(file, nil, nil)
        guard connection >= 0 else { return }
        if speaks {
          // Its settings, and that it has read those of the client.
          var begin: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0] + [0, 0, 0, 4, 1, 0, 0, 0, 0]
          _ = write(connection, &begin, begin.count)
        }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while read(connection, &buffer, buffer.count) > 0 {}
        close(connection)
      }
    }

    deinit { close(file) }
  }
#endif
