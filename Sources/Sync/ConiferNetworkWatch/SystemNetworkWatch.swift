import ConiferWire
import Dispatch
import Synchronization

#if canImport(Darwin)
  import Network

  /// Tells when the system has a way to the network again.
  package final class SystemNetworkWatch: NetworkWatch {
    private let monitor = NWPathMonitor()
    private let isReachable = Mutex(true)

    package init?(_ returned: @escaping @Sendable () -> Void) {
      monitor.pathUpdateHandler = { [weak self] path in
        guard let self else { return }
        let isReachable = path.status == .satisfied
        let wasReachable = self.isReachable.withLock { known in
          defer { known = isReachable }
          return known
        }
        if isReachable, !wasReachable { returned() }
      }
      monitor.start(queue: DispatchQueue(label: "conifer.network"))
    }

    deinit { stop() }

    package func stop() { monitor.cancel() }
  }
#else
  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Tells when the system has a new address or route, as the kernel says over a netlink socket
  /// (rtnetlink(7)).
  package final class SystemNetworkWatch: NetworkWatch {
    /// Any thread may cancel it; on Linux Dispatch does not declare that.
    nonisolated(unsafe) private let source: any DispatchSourceRead

    /// Nil where the kernel gives no such socket, as in a sandbox.
    package init?(_ returned: @escaping @Sendable () -> Void) {
      let file = socket(AF_NETLINK, Self.type, Self.routes)
      guard file >= 0 else { return nil }
      // `sockaddr_nl`, whose header Swift does not have: family, padding, the kernel's choice of a
      // number, groups.
      let address: [UInt32] = [UInt32(AF_NETLINK).littleEndian, 0, Self.groups]
      let isBound = address.withUnsafeBytes { bytes in
        bytes.withMemoryRebound(to: sockaddr.self) { address in
          bind(file, address.baseAddress, socklen_t(bytes.count)) == 0
        }
      }
      guard isBound else {
        close(file)
        return nil
      }
      source = DispatchSource.makeReadSource(
        fileDescriptor: file, queue: DispatchQueue(label: "conifer.network"))
      let changes = Mutex(NetworkChanges())
      source.setEventHandler {
        let texts = Self.drain(file)
        if changes.withLock({ $0.mayHaveReturned(texts, at: .now) }) { returned() }
      }
      source.setCancelHandler { close(file) }
      source.activate()
    }

    deinit { stop() }

    package func stop() { source.cancel() }

    /// `SOCK_RAW`, `SOCK_CLOEXEC` and `SOCK_NONBLOCK`, of which C libraries make different types.
    private static let type: Int32 = 3 | 0o2_000_000 | 0o4_000
    private static let routes: Int32 = 0
    /// New and lost addresses and routes of both protocols.
    private static let groups: UInt32 = 0x10 | 0x40 | 0x100 | 0x400

    /// All that waits in the socket.
    private static func drain(_ file: Int32) -> [[UInt8]] {
      var messages: [[UInt8]] = []
      var buffer = [UInt8](repeating: 0, count: 32 << 10)
      while true {
        let count = recv(file, &buffer, buffer.count, 0)
        // A message that the kernel dropped may have been the one that matters.
        if count < 0, errno == ENOBUFS {
          messages.append([])
          continue
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return messages }
        messages.append(Array(buffer[..<count]))
      }
    }
  }

  /// What the kernel's messages say of the network.
  struct NetworkChanges {
    /// Whether something was lost since the last return; unknown at first.
    private var isLost = true
    private var reported: ContinuousClock.Instant?
    /// How long changes without a loss are ignored: routers announce addresses again all the time.
    static let interval: Duration = .seconds(30)

    /// Whether the network may have returned: there is a new address or route, and either one was lost
    /// before or no return was reported for a while.
    ///
    /// - Parameters:
    ///   - texts: as they came; an empty one stands for messages that were lost.
    ///   - now: when.
    mutating func mayHaveReturned(_ texts: [[UInt8]], at now: ContinuousClock.Instant) -> Bool {
      var isNew = false
      for text in texts {
        if text.isEmpty { (isLost, isNew) = (true, true) }
        for kind in Self.kinds(text) {
          switch kind {
          case 20, 24: isNew = true
          case 21, 25: isLost = true
          default: break
          }
        }
      }
      guard isNew, isLost || reported.map({ now - $0 >= Self.interval }) ?? true else {
        return false
      }
      (isLost, reported) = (false, now)
      return true
    }

    /// The kinds of the messages in a text. Each begins at a multiple of 4 with its length (4 bytes) and
    /// its kind (2 bytes).
    private static func kinds(_ text: [UInt8]) -> [UInt16] {
      var kinds: [UInt16] = []
      var start = 0
      while text.count - start >= 16 {
        let (length, kind) = text.withUnsafeBytes { bytes in
          (
            Int(bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self)),
            bytes.loadUnaligned(fromByteOffset: start + 4, as: UInt16.self)
          )
        }
        guard length >= 16 else { break }
        kinds.append(kind)
        start += (length + 3) & ~3
      }
      return kinds
    }
  }
#endif
