import ConiferServer
import ConiferTree
import ConiferWire

/// The error that a client gets for a refused request.
struct RESTRefusal: Error, Hashable {
  /// The status code.
  let status: Int
  /// The text of `{"error": …}`.
  let message: String

  init(_ status: Int, _ message: String) {
    self.status = status
    self.message = message
  }

  /// What the server answered instead of `ok`.
  init(_ response: Response) {
    let message = response.reason ?? response.status.rawValue
    switch response.status {
    case .permissionDenied: self.init(401, "Permission denied")
    case .expiredToken, .invalidToken: self.init(TokenRefusal(response.status, message))
    case .unavailable: self.init(503, message)
    case .tooBig: self.init(400, RESTRefusal.tooBig + " " + message)
    default: self.init(400, message)
    }
  }

  /// What the server answered to a `PUT` or `POST` instead of `ok`.
  init(ofWrite response: Response) {
    guard response.status == .failure, let reason = response.reason else {
      self.init(response)
      return
    }
    self.init(400, "\(Self.invalidData) \(reason)")
  }

  init(_ refusal: TokenRefusal) {
    switch refusal.status {
    case .expiredToken: self.init(401, "Auth token is expired")
    default: self.init(401, "Could not parse auth token.")
    }
  }

  /// The service's message for invalid data.
  static let invalidData =
    "Invalid data; couldn't parse JSON object, array, or value. Perhaps you're using invalid "
    + "characters in your key names."

  /// The service's message for a write that is too large.
  private static let tooBig =
    "Data to write exceeds the maximum size that can be modified with a single request."

  static func path(_ error: TreeError) -> RESTRefusal {
    RESTRefusal(400, "Invalid path: Invalid token in path. " + error.message)
  }

  static let notFound = RESTRefusal(404, "append .json to your request URI to use the REST API.")

  /// The answer with this error.
  var response: HTTPResponse {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("error")
    writer.string(message)
    writer.endObject()
    return .json(writer.bytes, status: status)
  }
}

extension HTTPResponse {
  static func json(
    _ bytes: [UInt8], status: Int = 200, headers: [(name: String, value: String)] = []
  ) -> HTTPResponse {
    HTTPResponse(
      status: status,
      headers: [
        ("content-type", "application/json; charset=utf-8"), ("cache-control", "no-cache"),
      ] + headers, body: .bytes(bytes))
  }

  static func empty(
    _ status: Int, headers: [(name: String, value: String)] = []
  ) -> HTTPResponse {
    HTTPResponse(status: status, headers: [("cache-control", "no-cache")] + headers)
  }
}
