#if GRPC
  import Foundation
  import NetworkTestSupport

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
        while true {
          let connection = Sockets.accept(file)
          guard connection >= 0 else { return }
          Thread.detachNewThread { Self.serve(connection, speaks) }
        }
      }
    }

    deinit { close(file) }

    private static func serve(_ connection: Int32, _ speaks: Bool) {
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
#endif
