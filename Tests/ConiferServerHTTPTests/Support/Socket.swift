#if Network
  import Dispatch

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// A blocking socket to a port of this machine, on a queue of its own: nothing waits on a thread that
  /// the server may need.
  final class Socket: Sendable {
    struct Failure: Error {
      let words: String
    }

    private let descriptor: Int32
    private let queue = DispatchQueue(label: "socket")

    /// - Parameter receiveBuffer: what the system may hold for us unread; nil for its own choice.
    init(port: Int, receiveBuffer: Int32? = nil) throws {
      #if canImport(Darwin) || canImport(Musl)
        let kind = SOCK_STREAM
      #else
        let kind = Int32(SOCK_STREAM.rawValue)
      #endif
      let descriptor = socket(AF_INET, kind, 0)
      guard descriptor >= 0 else { throw Failure(words: "No socket: \(errno)") }
      self.descriptor = descriptor
      if let receiveBuffer { set(SO_RCVBUF, receiveBuffer) }
      // No test waits for this long but one that fails.
      set(SO_RCVTIMEO, timeval(tv_sec: 120, tv_usec: 0))
      set(SO_SNDTIMEO, timeval(tv_sec: 120, tv_usec: 0))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(UInt16(port).bigEndian)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard result == 0 else {
        close(descriptor)
        throw Failure(words: "Not connected: \(errno)")
      }
    }

    deinit { close(descriptor) }

    private func set<T: BitwiseCopyable>(_ option: Int32, _ value: T) {
      var value = value
      setsockopt(descriptor, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<T>.size))
    }

    func send(_ bytes: [UInt8]) async throws {
      try await run { descriptor in
        var done = 0
        while done < bytes.count {
          let count = bytes[done...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
          guard count > 0 else { throw Failure(words: "Sending failed: \(errno)") }
          done += count
        }
      }
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// The next bytes; none at the end, which a reset is too.
    func receive() async throws -> [UInt8] {
      try await run { descriptor in
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0, errno == ECONNRESET || errno == EPIPE { return [] }
        guard count >= 0 else { throw Failure(words: "Nothing came: \(errno)") }
        return Array(buffer[..<count])
      }
    }

    /// Says that nothing more will be sent.
    func endSending() async throws { try await run { _ = shutdown($0, Int32(SHUT_WR)) } }

    /// Dies: what is under way is lost, and the other side is told by a reset.
    func reset() async throws {
      try await run { descriptor in
        self.set(SO_LINGER, linger(l_onoff: 1, l_linger: 0))
        // Another descriptor takes this one's place, so that it is closed once.
        let other = open("/dev/null", O_RDONLY)
        dup2(other, descriptor)
        close(other)
      }
    }

    private func run<T: Sendable>(
      _ body: @escaping @Sendable (Int32) throws -> T
    ) async throws -> T {
      try await withCheckedThrowingContinuation { continuation in
        queue.async { continuation.resume(with: Result { try body(self.descriptor) }) }
      }
    }
  }
#endif
