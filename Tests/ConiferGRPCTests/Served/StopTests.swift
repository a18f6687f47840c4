#if GRPC
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferServerGRPC
  import ConiferWire
  import Logging
  import Testing

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
