/// The answer to an HTTP request, with its status, headers and body.
public struct HTTPResponse: Sendable {
  /// The body of an HTTP answer, as bytes or as a stream.
  public enum Body: Sendable {
    /// All bytes.
    case bytes([UInt8])
    /// A stream of bytes, until it ends or the client goes. It is iterated as fast as the client
    /// reads; when the client goes, the iteration is cancelled. The responder must bound the bytes
    /// that wait in the stream.
    case stream(AsyncStream<[UInt8]>)
  }

  /// The status code.
  public var status: Int
  /// The headers, without those that the connection itself adds (length, encoding, date, CORS).
  public var headers: [(name: String, value: String)]
  /// The body.
  public var body: Body

  /// An answer.
  public init(
    status: Int, headers: [(name: String, value: String)] = [], body: Body = .bytes([])
  ) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// `{"error":words}`, as the Realtime Database refuses requests.
  ///
  /// - Parameters:
  ///   - status: the status code.
  ///   - words: plain text in ASCII without quotes.
  static func refusal(_ status: Int, _ words: String) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [("content-type", "application/json; charset=utf-8")],
      body: .bytes(Array("{\"error\":\"\(words)\"}\n".utf8)))
  }
}

/// A handler that answers some HTTP requests and leaves others to the next one.
public protocol HTTPResponder: Sendable {
  /// Whether its answers are of the database that a request names (`HTTPRequest.namespace`), which is prepared first:
  /// true unless told. Responders without it are asked before the others.
  var usesNamespace: Bool { get }
  /// The answer to a request; nil when the next responder should answer it.
  func respond(to request: HTTPRequest) async -> HTTPResponse?
}

extension HTTPResponder {
  /// True.
  public var usesNamespace: Bool { true }
}
