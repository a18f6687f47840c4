#if GRPC
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferServerGRPC
  import ConiferWire
  import Logging
  import NetworkTestSupport
  import SwiftProtobuf
  import Testing

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  @testable import ConiferGRPC

  /// What is so once a server's `stop` has returned.
  @Suite(.timeLimit(.minutes(5))) struct StopTests {
    @Test("Whoever stops a server that is stopping waits until it has stopped")
    func twice() async throws {
      try await served(.open) {
        $0.timeouts.stop = .seconds(1)
      } _: { served in
        // It never sends its request, so that the first stop waits for it.
        let call = try await RawConnection(served.port).call("GetDocument")
        try await served.until { served.grpc.callCount == 1 }
        let first = Task { await served.grpc.stop() }
        try await served.until { served.grpc.port == nil }
        await served.grpc.stop()
        #expect(served.grpc.connectionCount == 0)
        await first.value
        #expect(await call.status() != .ok)
      }
    }

    /// A child process that was started meanwhile has what this copy has.
    @Test(
      "A server that has stopped does not listen, also where another process has its socket",
      .enabled(if: Sockets.canEndListening, "The system ends no socket that another process has."),
      arguments: ["127.0.0.1", "localhost"])
    func inherited(_ host: String) async throws {
      var configuration = DocumentGRPCConfiguration(host: host, port: 0)
      configuration.logger.logLevel = .critical
      let server = DocumentGRPCServer(try DocumentServer(), configuration)
      let port = try await server.start()
      let copies = Sockets.files(at: port).map { dup($0) }
      defer { for copy in copies { close(copy) } }
      #expect(!copies.isEmpty && Sockets.answers(port))
      await server.stop()
      #expect(!Sockets.answers(port))
    }

    @Test("Programs that a process starts do not get the sockets of its server")
    func notInherited() async throws {
      try await served { served in
        let connection = try await RawConnection(served.port)
        let call = try await connection.call("GetDocument")
        let request = ProtoGetDocumentRequest.with { $0.name = "\(served.root)/rooms/a" }
        try await call.send(RawStream.framed(try request.serializedBytes()), ends: true)
        #expect(await call.status() == .notFound)
        // One listens, and one is the connection.
        let files = Sockets.files(at: served.port)
        #expect(files.count == 2)
        #expect(files.allSatisfy(Sockets.isKeptFromChildren))
      }
    }

    @Test("A server that is stopped while it starts does not listen once that is over")
    func starting() async throws {
      for host in ["127.0.0.1", "localhost"] {
        for round in 0..<20 {
          // Below the ports that the system gives out: another test's server would answer there.
          var port = Int.random(in: 12_000..<32_000)
          while Sockets.answers(port) { port = Int.random(in: 12_000..<32_000) }
          var configuration = DocumentGRPCConfiguration(host: host, port: port)
          configuration.logger.logLevel = .critical
          let server = DocumentGRPCServer(try DocumentServer(), configuration)
          let starting = Task { try await server.start() }
          for _ in 0..<round { await Task.yield() }
          await server.stop()
          #expect(!Sockets.answers(configuration.port), "\(host), round \(round)")
          _ = await starting.result
          #expect(!Sockets.answers(configuration.port), "\(host), round \(round)")
          await server.stop()
        }
      }
    }
  }
#endif
