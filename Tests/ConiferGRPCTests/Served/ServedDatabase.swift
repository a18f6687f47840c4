#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferServerGRPC
  import ConiferWire
  import Logging
  import SwiftProtobuf
  import Testing

  @testable import ConiferGRPC

  /// A database of Conifer's server over a socket, for one test.
  struct ServedDatabase: Sendable {
    let documents: DocumentServer
    let grpc: DocumentGRPCServer
    let port: Int
    let database = DatabaseID(project: "test")
    /// One connection for all calls of one request.
    let calls: GRPCService

    /// The names that requests have.
    var name: String { "\(database)" }
    var root: String { "\(database)/documents" }

    /// The database as a client has it, whose attempts no load of the machine ends.
    func service() throws -> GRPCService {
      try ConiferGRPCTests.service(port, database) {
        $0.openTimeout = .seconds(600)
        $0.requestTimeout = .seconds(600)
      }
    }

    /// Calls a method that has one answer.
    func call<Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message>(
      _ method: String, _ request: Request, as token: String? = nil,
      _: Response.Type = Response.self
    ) async throws -> Response {
      let answers: [Response] = try await calls.ask(method, request, token)
      return try #require(answers.first)
    }

    /// Calls a method whose answer is a stream.
    func list<Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message>(
      _ method: String, _ request: Request, as token: String? = nil,
      _: Response.Type = Response.self
    ) async throws -> [Response] { try await calls.ask(method, request, token) }

    /// What a call is refused with; nil when it is not.
    func refusal<Request: SwiftProtobuf.Message>(
      _ method: String, _ request: Request, as token: String? = nil
    ) async throws -> StatusError? {
      do throws(StatusError) {
        let _: [Google_Protobuf_Empty] = try await calls.ask(method, request, token)
        return nil
      } catch { return error }
    }

    /// Waits until something holds of the server that it tells nobody.
    func until(_ condition: () -> Bool) async throws {
      while !condition() { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// Makes documents `rooms/r0` and so on, with their numbers.
    func fill(_ count: Int) async throws {
      let writes = try (0..<count).map { n in
        Mutation(try DocumentPath("rooms/r\(n)"), .set(["n": .integer(Int64(n))], []))
      }
      try await documents.commit(writes, in: database)
    }
  }

  /// Runs a closure with a server at a free port, and stops it afterwards.
  func served(
    _ access: DocumentAccess = .open, on documents: DocumentServer? = nil, port: Int = 0,
    _ configure: (inout DocumentGRPCConfiguration) -> Void = { _ in },
    _ body: (ServedDatabase) async throws -> Void
  ) async throws {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    var configuration = DocumentGRPCConfiguration(host: "127.0.0.1", port: port, logger: logger)
    configure(&configuration)
    let documents = try documents ?? DocumentServer(DocumentServerConfiguration(access: access))
    let grpc = DocumentGRPCServer(documents, configuration)
    let port = try await grpc.start()
    do {
      let calls = try service(port) {
        $0.openTimeout = .seconds(600)
        $0.requestTimeout = .seconds(600)
      }
      try await body(ServedDatabase(documents: documents, grpc: grpc, port: port, calls: calls))
    } catch {
      await grpc.stop()
      throw error
    }
    await grpc.stop()
    #expect(grpc.connectionCount == 0 && grpc.callCount == 0)
  }

  extension WatchLine {
    /// What is said until the next moment of all targets, and when that is.
    func moment() async throws -> (changes: [WatchChange], version: Timestamp, token: [UInt8]) {
      var changes: [WatchChange] = []
      while true {
        let (change, version) = try await said()
        stream.taken()
        if let version, case .targets(.noChange, _, let token) = change {
          return (changes, version, token)
        }
        changes.append(change)
      }
    }
  }

  extension [WatchChange] {
    /// The documents that match from now on.
    var matching: [Document] {
      compactMap {
        if case .document(let document, let ids, _) = $0, !ids.isEmpty { document } else { nil }
      }
    }

    /// What happened to targets.
    var events: [WatchChange.Event] {
      compactMap { if case .targets(let event, _, _) = $0 { event } else { nil } }
    }
  }
#endif
