/// A responder that answers `GET /.health` while the server runs: for scripts that wait for it.
public struct HealthResponder: HTTPResponder {
  /// A responder; put it first in the list.
  public init() {}

  /// False.
  public var usesNamespace: Bool { false }

  /// `{"status":"ok"}`.
  public func respond(to request: HTTPRequest) async -> HTTPResponse? {
    guard request.path == "/.health" else { return nil }
    guard request.method == "GET" else {
      return .refusal(405, "Only GET is allowed here.")
    }
    return HTTPResponse(
      status: 200,
      headers: [
        ("content-type", "application/json; charset=utf-8"), ("cache-control", "no-store"),
      ], body: .bytes(Array("{\"status\":\"ok\"}\n".utf8)))
  }
}
