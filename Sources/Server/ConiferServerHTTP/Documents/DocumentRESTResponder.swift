import ConiferDocument
public import ConiferDocumentServer
import ConiferTree
import ConiferWire

/// Answers requests as Firestore's REST API does: documents, commits, queries, aggregates, transactions and lists.
///
/// The token of a request (`Authorization: Bearer`, or `access_token`) is shown to the server, whose `DocumentAccess`
/// knows who it stands for and what that user may do.
public struct DocumentRESTResponder: HTTPResponder {
  let server: DocumentServer
  let limits: DocumentRESTLimits

  /// A responder for all databases of a server.
  public init(_ server: DocumentServer) { self.init(server, DocumentRESTLimits()) }

  package init(_ server: DocumentServer, _ limits: DocumentRESTLimits) {
    self.server = server
    self.limits = limits
  }

  /// False: projects and databases are named by the path.
  public var usesNamespace: Bool { false }

  /// The answer to a request for `/v1/projects/P/databases/D/documents…`; nil for others.
  public func respond(to request: HTTPRequest) async -> HTTPResponse? {
    guard DocumentRESTPath.isDocuments(request.path) else { return nil }
    var isListed = false
    do throws(StatusError) {
      let path = try DocumentRESTPath(request.path, hasVerb: request.method == "POST")
      isListed = ["batchGet", "runQuery", "runAggregationQuery"].contains(path.verb)
      let call = Call(
        request: request, path: path,
        api: DatabaseAPI(server, path.database, token: Self.token(of: request)))
      guard request.body.count <= limits.body else {
        throw StatusError(
          .invalidArgument,
          "The body has \(request.body.count) bytes; \(limits.body) are allowed. Split the request."
        )
      }
      return .json(try await answer(call))
    } catch { return error.response(isListed: isListed) }
  }

  /// A request that is being answered.
  struct Call {
    let request: HTTPRequest
    let path: DocumentRESTPath
    let api: DatabaseAPI

    var database: DatabaseID { path.database }
  }

  private func answer(_ call: Call) async throws(StatusError) -> [UInt8] {
    if call.path.isEmulators { return try await reset(call) }
    switch (call.request.method, call.path.place, call.path.verb) {
    case ("POST", .root, "commit"?): return try await commit(call)
    case ("POST", .root, "batchWrite"?): return try await batchWrite(call)
    case ("POST", .root, "batchGet"?): return try await batchGet(call)
    case ("POST", .root, "beginTransaction"?): return try beginTransaction(call)
    case ("POST", .root, "rollback"?): return try rollback(call)
    case ("POST", .root, "runQuery"?): return try await runQuery(call, below: nil)
    case ("POST", .document(let path), "runQuery"?): return try await runQuery(call, below: path)
    case ("POST", .root, "runAggregationQuery"?):
      return try await runAggregationQuery(call, below: nil)
    case ("POST", .document(let path), "runAggregationQuery"?):
      return try await runAggregationQuery(call, below: path)
    case ("POST", .root, "listCollectionIds"?):
      return try await listCollectionIDs(call, below: nil)
    case ("POST", .document(let path), "listCollectionIds"?):
      return try await listCollectionIDs(call, below: path)
    case ("POST", .collection(let path), nil): return try await create(call, in: path)
    case ("GET", .document(let path), nil): return try await get(call, path)
    case ("GET", .collection(let path), nil): return try await list(call, path)
    case ("PATCH", .document(let path), nil): return try await update(call, path)
    case ("DELETE", .document(let path), nil): return try await delete(call, path)
    default: throw Self.unknown(call)
    }
  }

  private static func unknown(_ call: Call) -> StatusError {
    switch call.path.verb {
    case "listen"?, "write"?:
      StatusError(.unimplemented, "Streams are not for REST. Use an SDK, or read again.")
    case "partitionQuery"?, "executePipeline"?:
      StatusError(.unimplemented, "This server does not do this. Run a query.")
    case let verb?:
      StatusError(.notFound, "There is nothing that \(verb) does at \(call.path.name).")
    case nil:
      StatusError(
        .unimplemented,
        "\(call.request.method) does nothing at \(call.path.name). A document is for GET, PATCH and DELETE, a "
          + "collection for GET and POST.")
    }
  }

  private static func token(of request: HTTPRequest) -> String? {
    if let header = request.header("authorization") {
      let parts = header.split(separator: " ", maxSplits: 1)
      if parts.count == 2, parts[0].lowercased() == "bearer" { return String(parts[1]) }
    }
    return request.parameter("access_token")
  }

  /// Removes all documents, as the vendor's emulator does for tests.
  private func reset(_ call: Call) async throws(StatusError) -> [UInt8] {
    guard call.request.method == "DELETE", call.path.place == .root, call.path.verb == nil else {
      throw StatusError(
        .unimplemented,
        "The only request of the emulator's that is served is DELETE of all documents.")
    }
    try call.checkParameters([])
    try await call.api.removeAll()
    return Self.nothing
  }

  /// The answer without content.
  static let nothing = Array("{}".utf8)
}
