#if Network
  import ConiferServer
  import ConiferServerHTTP
  import NetworkTestSupport
  import Testing

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// What other processes have of a server's sockets.
  @Suite(.timeLimit(.minutes(5))) struct StopTests {
    private func server(_ host: String) -> HTTPServer {
      HTTPServer(
        Server(), HTTPServerConfiguration(host: host, port: 0, logger: quiet),
        responders: [HealthResponder()])
    }

    /// A child process that has not executed its program yet has what this copy has.
    @Test(
      "A server that has stopped does not listen, also where another process has its socket",
      .enabled(if: Sockets.canEndListening, "The system ends no socket that another process has."),
      arguments: ["127.0.0.1", "localhost"])
    func inherited(_ host: String) async throws {
      let server = server(host)
      let port = try await server.start()
      let copies = Sockets.files(at: port).map { dup($0) }
      defer { for copy in copies { close(copy) } }
      #expect(!copies.isEmpty && Sockets.answers(port))
      await server.stop()
      #expect(!Sockets.answers(port))
    }

    @Test(
      "While a program runs that was started meanwhile, a server that stops ends its connections and does not listen",
      arguments: ["127.0.0.1", "localhost"])
    func started(_ host: String) async throws {
      let server = server(host)
      let port = try await server.start()
      let socket = try Socket(port: port)
      let reader = Reader(socket)
      try await socket.send("GET /.health HTTP/1.1\r\nHost: \(host)\r\n\r\n")
      #expect(try await Reply.next(reader) != nil)
      let program = try StartedProgram()
      await server.stop()
      #expect(!Sockets.answers(port))
      #expect(try await socket.receive() == [])
      withExtendedLifetime(program) {}
    }

    @Test("Programs that a process starts do not get the sockets of its server")
    func notInherited() async throws {
      try await serving { serving in
        let client = try await serving.client()
        // One listens, and one is the connection.
        let files = Sockets.files(at: serving.port)
        #expect(files.count == 2 && files.allSatisfy(Sockets.isKeptFromChildren))
        withExtendedLifetime(client) {}
      }
    }
  }
#endif
