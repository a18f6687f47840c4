import ConiferQuery
public import ConiferServer
import ConiferTree
import ConiferWire
import Synchronization

/// A responder for the Realtime Database's REST API: data, queries, conditional writes, event
/// streams, and the rules.
public final class RESTResponder: HTTPResponder {
  let server: Server
  let configuration: RESTConfiguration
  /// The updates that wait for the readers of all event streams.
  let backlogs: MemoryBudget
  private let ids = Mutex(PushIDGenerator())

  /// A responder for the databases of a server.
  public init(_ server: Server, _ configuration: RESTConfiguration = RESTConfiguration()) {
    self.server = server
    self.configuration = configuration
    backlogs = MemoryBudget(configuration.backlogs)
  }

  /// The answer to a request; nil for `/`, and for paths that begin with a dot and are not
  /// settings.
  public func respond(to request: HTTPRequest) async -> HTTPResponse? {
    let isSetting = request.path.hasPrefix("/.settings/")
    guard isSetting || RESTPath.isData(request.path) else {
      if request.path == "/" || request.path.hasPrefix("/.") { return nil }
      return RESTRefusal.notFound.response
    }
    do throws(RESTRefusal) {
      return try await isSetting ? settings(request) : answer(request)
    } catch {
      var response = error.response
      if error.status == 405 {
        let methods =
          isSetting ? "GET, HEAD, PUT, OPTIONS" : "GET, HEAD, PUT, PATCH, POST, DELETE, OPTIONS"
        response.headers.append(("allow", methods))
      }
      return response
    }
  }

  private func answer(_ request: HTTPRequest) async throws(RESTRefusal) -> HTTPResponse {
    guard request.body.count <= configuration.body else {
      throw RESTRefusal(413, "Payload is too large: more than \(configuration.body) bytes.")
    }
    let method = try method(of: request)
    let call = Call(
      request: request, path: try RESTPath.parse(request.path),
      caller: try caller(of: request), parameters: try RESTParameters(request))
    switch method {
    case "GET": return isStream(request) ? try await stream(call) : try read(call)
    case "PUT": return try await put(RESTBody.node(request.body), call)
    case "DELETE": return try await put(.empty, call)
    case "PATCH": return try await patch(call)
    default: return try await post(call)
    }
  }

  /// The effective method: a `POST` may name another one.
  func method(of request: HTTPRequest) throws(RESTRefusal) -> String {
    var method = request.method
    if method == "POST",
      let other = request.header("x-http-method-override")
        ?? request.parameter("x-http-method-override")
    {
      method = other.uppercased()
    }
    guard ["GET", "PUT", "PATCH", "POST", "DELETE"].contains(method) else {
      throw RESTRefusal(405, "The method must be GET, HEAD, PUT, PATCH, POST, DELETE or OPTIONS.")
    }
    return method
  }

  func pushID() -> Key { ids.withLock { $0.next(at: server.clock.now) } }
}

extension RESTResponder {
  /// A parsed request for data.
  struct Call {
    let request: HTTPRequest
    let path: Path
    /// The user's token; nil for nobody.
    let caller: VerifiedToken?
    let parameters: RESTParameters

    var namespace: String { request.namespace }
  }
}
