#if Network
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import Logging
  import Testing

  /// A server with its sockets at a free port.
  struct Serving {
    let server: Server
    let http: HTTPServer
    let port: Int

    /// A new connection to it.
    func socket(receiveBuffer: Int32? = nil) throws -> Socket {
      try Socket(port: port, receiveBuffer: receiveBuffer)
    }

    /// A new WebSocket to it.
    func client(
      _ path: String = "/.ws?v=5&ns=demo", receiveBuffer: Int32? = nil
    ) async throws -> WebSocketClient {
      try await WebSocketClient(port: port, path, receiveBuffer: receiveBuffer)
    }

    /// Sends one request on a connection of its own, and returns the answer.
    func ask(_ request: String) async throws -> Reply? {
      let reader = Reader(try socket())
      try await reader.socket.send(request)
      return try await Reply.next(reader)
    }
  }

  /// Runs a closure with a server, and stops it afterwards.
  func serving(
    _ server: Server = Server(), responders: [any HTTPResponder] = [HealthResponder()],
    _ configure: (inout HTTPServerConfiguration) -> Void = { _ in },
    _ body: (Serving) async throws -> Void
  ) async throws {
    var configuration = HTTPServerConfiguration(host: "127.0.0.1", port: 0, logger: quiet)
    configure(&configuration)
    let http = HTTPServer(server, configuration, responders: responders)
    let port = try await http.start()
    do {
      try await body(Serving(server: server, http: http, port: port))
    } catch {
      await http.stop()
      throw error
    }
    await http.stop()
    #expect(http.connectionCount == 0)
  }

  /// A log that nobody reads.
  var quiet: Logger { Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }) }

  /// A responder as a closure.
  struct ClosureResponder: HTTPResponder {
    let answer: @Sendable (HTTPRequest) async -> HTTPResponse?

    func respond(to request: HTTPRequest) async -> HTTPResponse? { await answer(request) }

    /// Tells what was asked.
    static let echo = ClosureResponder { request in
      let query = request.query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
      return HTTPResponse(
        status: 200, headers: [("content-type", "text/plain"), ("etag", "e1")],
        body: .bytes(
          Array("\(request.method) \(request.path) \(query) \(request.namespace) ".utf8)
            + request.body))
    }
  }
#endif
