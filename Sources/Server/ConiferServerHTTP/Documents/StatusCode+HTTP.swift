import ConiferTree
import ConiferWire

extension StatusCode {
  /// The status of HTTP that stands for the code (google/rpc/code.proto).
  var httpStatus: Int {
    switch self {
    case .ok: 200
    case .cancelled: 499
    case .unknown, .internal, .dataLoss: 500
    case .invalidArgument, .failedPrecondition, .outOfRange: 400
    case .deadlineExceeded: 504
    case .notFound: 404
    case .alreadyExists, .aborted: 409
    case .permissionDenied: 403
    case .unauthenticated: 401
    case .resourceExhausted: 429
    case .unimplemented: 501
    case .unavailable: 503
    }
  }

  /// The service's word for the code, such as `NOT_FOUND`.
  var word: String {
    "\(self)".reduce(into: "") { word, character in
      word += character.isUppercase ? "_\(character)" : character.uppercased()
    }
  }
}

extension StatusError {
  /// The error at a place of a body.
  init(_ error: JSONError) {
    let message = error.message.prefix(1).uppercased() + error.message.dropFirst()
    self.init(.invalidArgument, "Line \(error.line), column \(error.column): \(message)")
  }

  /// The answer of a request that failed.
  ///
  /// - Parameter isListed: whether the request's answer is an array, as that of a stream.
  func response(isListed: Bool = false) -> HTTPResponse {
    var writer = JSONWriter()
    if isListed { writer.beginArray() }
    writer.beginObject()
    writer.key("error")
    writer.beginObject()
    writer.key("code")
    writer.integer(Int64(code.httpStatus))
    writer.key("message")
    writer.string(message)
    writer.key("status")
    writer.string(code.word)
    writer.endObject()
    writer.endObject()
    if isListed { writer.endArray() }
    return .json(writer.bytes, status: code.httpStatus)
  }
}
