import ConiferServer
import ConiferServerHTTP
import ConiferTree
import Foundation

/// Asks a responder as a client would, without a socket.
struct RESTClient {
  let server: Server
  let responder: RESTResponder

  init(
    _ configuration: ServerConfiguration = ServerConfiguration(),
    _ rest: RESTConfiguration = RESTConfiguration()
  ) {
    server = Server(configuration)
    responder = RESTResponder(server, rest)
  }

  /// - Parameters:
  ///   - line: the method and the URL, such as `GET /users.json?shallow=true`.
  ///   - body: the body's text.
  ///   - headers: headers with names in small letters.
  func ask(
    _ line: String, _ body: String = "", _ headers: [String: String] = [:]
  ) async -> RESTReply {
    await RESTReply(responder.respond(to: Self.request(line, Array(body.utf8), headers)))
  }

  static func request(
    _ line: String, _ body: [UInt8] = [], _ headers: [String: String] = [:]
  ) -> HTTPRequest {
    let parts = line.split(separator: " ", maxSplits: 1)
    let url = parts[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let query = url.count < 2 ? [] : url[1].split(separator: "&")
    var request = HTTPRequest(
      method: String(parts[0]), path: String(url[0]),
      query: query.map { pair in
        let both = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (decoded(both[0]), both.count < 2 ? "" : decoded(both[1]))
      },
      headers: headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, body: body)
    request.namespace = request.parameter("ns") ?? NamespaceName.default
    return request
  }

  private static func decoded(_ text: Substring) -> String {
    text.replacing("+", with: " ").removingPercentEncoding ?? String(text)
  }
}

/// What a client was answered.
struct RESTReply {
  let status: Int
  let headers: [String: String]
  let body: String
  let stream: AsyncStream<[UInt8]>?

  init(_ response: HTTPResponse?) {
    status = response?.status ?? 0
    headers = Dictionary(
      (response?.headers ?? []).map { ($0.name.lowercased(), $0.value) },
      uniquingKeysWith: { "\($0), \($1)" })
    switch response?.body {
    case .bytes(let bytes)?: (body, stream) = (String(decoding: bytes, as: UTF8.self), nil)
    case .stream(let bytes)?: (body, stream) = ("", bytes)
    case nil: (body, stream) = ("", nil)
    }
  }

  var tag: String? { headers["etag"] }

  /// The words of an error.
  var error: String? {
    guard case .string(let text)? = (try? Node(json: body))?["error" as Key].leaf else {
      return nil
    }
    return text
  }
}
