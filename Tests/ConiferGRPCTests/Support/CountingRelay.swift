#if GRPC
  import Foundation
  import Synchronization

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Darwin)
    import Darwin
  #endif

  /// A way to a port of this machine that counts the bytes that come from there, for one connection.
  final class CountingRelay: Sendable {
    let port: Int
    private let listening: Int32
    private let received: Counter

    private final class Counter: Sendable {
      private let bytes = Mutex(0)
      var value: Int { bytes.withLock { $0 } }
      func add(_ count: Int) { bytes.withLock { $0 += count } }
    }

    init(to target: Int) throws {
      let received = Counter()
      (listening, port) = try Sockets.listen()
      self.received = received
      let listening = listening
      Thread.detachNewThread {
        let client = accept(listening, nil, nil)
        let server = Sockets.connect(target)
        guard client >= 0, server >= 0 else { return }
        var isOn: Int32 = 1
        for file in [client, server] {
          setsockopt(
            file, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
        }
        Thread.detachNewThread { Self.pump(client, server) { _ in } }
        Self.pump(server, client) { received.add($0) }
        close(client)
        close(server)
      }
    }

    deinit { close(listening) }

    /// How many bytes the client was sent.
    var count: Int { received.value }

    private static func pump(_ from: Int32, _ to: Int32, _ passed: (Int) -> Void) {
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = read(from, &buffer, buffer.count)
        guard count > 0 else { break }
        var start = 0
        while start < count {
          let sent = buffer.withUnsafeBytes { bytes in
            send(
              to, bytes.baseAddress.map { $0 + start }, count - start, Int32(MSG_NOSIGNAL))
          }
          guard sent > 0 else { return }
          start += sent
        }
        passed(count)
      }
      shutdown(to, Int32(SHUT_RDWR))
    }
  }
#endif
