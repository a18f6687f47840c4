#if GRPC
  import Foundation
  import NetworkTestSupport
  import Synchronization

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Darwin)
    import Darwin
  #endif

  /// A way to a port of this machine that counts the bytes that come from there, for one connection after the other.
  final class CountingRelay: Sendable {
    let port: Int
    private let listening: Int32
    private let listener: ListeningFile
    private let state: Passing

    /// What passes.
    private final class Passing: Sendable {
      private let state = Mutex(
        (bytes: 0, isMute: false, holds: false, files: [Int32](), silent: (begun: 0, ended: 0)))

      var bytes: Int { state.withLock { $0.bytes } }
      var isMute: Bool { state.withLock { $0.isMute } }
      var holdsClient: Bool {
        get { state.withLock { $0.holds } }
        set { state.withLock { $0.holds = newValue } }
      }
      func add(_ count: Int) { state.withLock { $0.bytes += count } }
      var silent: (begun: Int, ended: Int) { state.withLock { $0.silent } }
      func beginSilence() { state.withLock { $0.silent.begun += 1 } }
      func endSilence() { state.withLock { $0.silent.ended += 1 } }
      func mute() { state.withLock { $0.isMute = true } }
      func opened(_ files: [Int32]) { state.withLock { $0.files = files } }
      /// Within the lock, so that no file is closed that another has got.
      func cut() {
        state.withLock { for file in $0.files { shutdown(file, Int32(SHUT_RDWR)) } }
      }
      func closed() {
        state.withLock { state in
          for file in state.files { close(file) }
          state.files = []
        }
      }
    }

    /// - Parameters:
    ///   - target: where to.
    ///   - connections: how many are led there.
    ///   - silent: how many before these are taken, and nothing is said on them.
    convenience init(to target: Int, connections: Int = 1, silent: Int = 0) throws {
      self.init(at: try Sockets.listen(), to: target, connections: connections, silent: silent)
    }

    /// - Parameter place: a socket that listens, which is the relay's from now on, and its port.
    fileprivate init(
      at place: (file: Int32, port: Int), to target: Int, connections: Int, silent: Int = 0
    ) {
      let state = Passing()
      (listening, port) = place
      self.state = state
      let listener = ListeningFile(listening)
      self.listener = listener
      let listening = listening
      Thread.detachNewThread {
        defer { listener.release() }
        for _ in 0..<silent {
          let client = Sockets.accept(listening)
          state.beginSilence()
          var buffer = [UInt8](repeating: 0, count: 1 << 12)
          while read(client, &buffer, buffer.count) > 0 {}
          close(client)
          state.endSilence()
        }
        for _ in 0..<connections {
          let client = Sockets.accept(listening)
          let server = Sockets.connect(target)
          guard client >= 0, server >= 0 else {
            for file in [client, server] where file >= 0 { close(file) }
            return
          }
          var isOn: Int32 = 1
          for file in [client, server] {
            setsockopt(
              file, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
          }
          state.opened([client, server])
          let other = Mailbox<Void>()
          Thread.detachNewThread {
            Self.pump(client, server, state) { _ in
              while state.holdsClient { usleep(1_000) }
            }
            other.end()
          }
          Self.pump(server, client, state) { state.add($0) }
          while other.isOpen { usleep(1_000) }
          state.closed()
        }
      }
    }

    deinit {
      // The thread, if it still waits for a connection, goes on and ends.
      shutdown(listening, Int32(SHUT_RDWR))
      listener.release()
    }

    /// A socket that is closed when neither the relay nor its thread needs it, so that its number is not another
    /// test's before.
    private final class ListeningFile: Sendable {
      private let file: Int32
      private let users = Mutex(2)

      init(_ file: Int32) { self.file = file }

      func release() {
        let isLast = users.withLock { users in
          users -= 1
          return users == 0
        }
        if isLast { close(file) }
      }
    }

    /// How many bytes the client was sent.
    var count: Int { state.bytes }
    /// Ends the connection.
    func cut() { state.cut() }
    /// How many connections on which nothing is said the client has made, and ended.
    var silent: (begun: Int, ended: Int) { state.silent }
    /// Whether what comes from the client waits.
    var holdsClient: Bool {
      get { state.holdsClient }
      set { state.holdsClient = newValue }
    }
    /// Nothing passes any more, and nobody is told.
    func mute() { state.mute() }

    private static func pump(
      _ from: Int32, _ to: Int32, _ state: Passing, _ passes: (Int) -> Void
    ) {
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = read(from, &buffer, buffer.count)
        guard count > 0 else { break }
        if state.isMute { continue }
        passes(count)
        var start = 0
        while start < count {
          let sent = buffer.withUnsafeBytes { bytes in
            send(
              to, bytes.baseAddress.map { $0 + start }, count - start, Int32(MSG_NOSIGNAL))
          }
          guard sent > 0 else { return }
          start += sent
        }
      }
      shutdown(to, Int32(SHUT_RDWR))
    }
  }

  /// A port at which nobody listens, and that no other test gets, until it leads to a server.
  final class HeldPort {
    let port: Int
    private var file: Int32?

    init() throws {
      let held = try Sockets.bound()
      (file, port) = (held.file, held.port)
    }

    deinit { if let file { close(file) } }

    /// - Returns: a relay at the port to that of a server.
    func lead(to target: Int) throws -> CountingRelay {
      guard let file else { throw Ended(instead: "a port that leads to a server already") }
      try Sockets.listen(file)
      self.file = nil
      return CountingRelay(at: (file, port), to: target, connections: 10)
    }
  }
#endif
