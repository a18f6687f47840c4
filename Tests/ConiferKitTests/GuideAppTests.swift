#if Network
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import Foundation
  import Logging
  @testable import ConiferKit
  import Testing

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// An app of the guides' lines keeps its data with one import and one line.
  @Suite(.serialized, .timeLimit(.minutes(10))) struct `An app in the guides' lines` {
    /// Where the app keeps its data, instead of the user's own directory.
    let home: URL

    init() throws {
      home = FileManager.default.temporaryDirectory
        .appendingPathComponent("conifer-kit-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
    }

    @Test func `killed and started again, it has its data and its queue`() async throws {
      let server = Server()
      server.set("rooms/r1", ["name": "Kitchen", "seats": 4], in: "guide")
      let reserved = try ReservedPort()
      let url = "http://127.0.0.1:\(reserved.port)?ns=guide"
      let http = try await listen(server, reserved.port)

      let first = try GuideAppProcess([url], home)
      await first.wait(for: "Kitchen, 4 seats")
      await http.stop()
      try first.type("Attic")
      await first.wait(for: "Attic, 4 seats")
      first.kill()

      // Nobody listens there now: what it shows is what it kept, and the write that waits.
      let second = try GuideAppProcess([url], home)
      await second.wait(for: "Attic, 4 seats")
      #expect(server.data("rooms/r1/name", in: "guide") == "Kitchen")
      second.kill()

      let again = try await listen(server, reserved.port)
      let third = try GuideAppProcess([url], home)
      while server.data("rooms/r1/name", in: "guide") != "Attic", !Task.isCancelled {
        try await Task.sleep(for: .milliseconds(5))
      }
      #expect(server.data("rooms/r1", in: "guide") == ["name": "Attic", "seats": 4])
      third.kill()
      await again.stop()
      let apps = try FileManager.default.contentsOfDirectory(atPath: home.path)
      #expect(apps == AppDirectory.components("GuideApp"))
      try FileManager.default.removeItem(at: home)
    }

    private func listen(_ server: Server, _ port: Int) async throws -> HTTPServer {
      var configuration = HTTPServerConfiguration(host: "127.0.0.1", port: port)
      configuration.logger.logLevel = .critical
      configuration.timeouts.stop = .zero
      let http = HTTPServer(server, configuration)
      _ = try await http.start()
      return http
    }
  }

  /// A free port of the loopback, which on Linux nobody else is given while this is there: its socket does
  /// not listen, and lets a server listen that shares addresses.
  private final class ReservedPort {
    let port: Int
    private let descriptor: Int32

    init() throws {
      #if os(Linux)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
      #endif
      var isShared: Int32 = 1
      setsockopt(
        descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared,
        socklen_t(MemoryLayout.size(ofValue: isShared)))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout.size(ofValue: address))
      let isBound = withUnsafeMutablePointer(to: &address) { [descriptor] address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          bind(descriptor, address, size) == 0 && getsockname(descriptor, address, &size) == 0
        }
      }
      port = Int(UInt16(bigEndian: address.sin_port))
      try #require(isBound)
      #if !os(Linux)
        close(descriptor)
      #endif
    }

    deinit {
      #if os(Linux)
        close(descriptor)
      #endif
    }
  }
#endif
