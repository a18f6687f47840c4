/// What is answered to a request.
public struct HTTPResponse: Sendable {
  /// What follows the headers.
  public enum Body: Sendable {
    /// Bytes, here whole.
    case bytes([UInt8])
    /// Bytes that come as they come, until the stream ends or the client goes; it is iterated as fast
    /// as the client reads, and its end cancels the iteration. What waits in the stream is the
    /// responder's to bound.
    case stream(AsyncStream<[UInt8]>)
  }

  /// The status code.
  public var status: Int
  /// The headers, without those that the connection itself adds (length, encoding, date, what lets
  /// pages of other origins read the answer).
  public var headers: [(name: String, value: String)]
  /// What follows them.
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

/// What answers requests, without knowing of sockets.
public protocol HTTPResponder: Sendable {
  /// The answer to a request; nil when it is none of this responder's, so that the next is asked.
  func respond(to request: HTTPRequest) async -> HTTPResponse?
}
