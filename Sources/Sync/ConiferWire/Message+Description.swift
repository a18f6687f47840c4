import ConiferQuery
import ConiferTree

extension ClientMessage: CustomStringConvertible {
  /// The message in one line, without data and without tokens.
  public var description: String {
    switch self {
    case .request(let number, let request): "\(number) \(request)"
    case .keepAlive: "keep-alive"
    case .ping: "ping"
    case .unknown(let number, let action):
      (number.map { "\($0) " } ?? "") + "unknown request \(action)"
    case .invalid(let number, _): "\(number) invalid request"
    case .tooLarge(let number, _): "\(number) request that is too large"
    }
  }
}

extension ServerMessage: CustomStringConvertible {
  /// The message in one line, without data.
  public var description: String {
    switch self {
    case .hello(let hello): "hello from \(hello.host) at \(hello.timestamp)"
    case .response(let number, let response): "\(number) \(response)"
    case .push(let push): "\(push)"
    case .reset(let host): "reset to \(host)"
    case .shutdown(let reason): "shutdown: \(reason)"
    case .error(let words): "error: \(words)"
    case .pong: "pong"
    case .unknown(let words): "unknown message \(words)"
    }
  }
}

extension Response: CustomStringConvertible {
  /// The status with the server's words, without data.
  public var description: String {
    var text = "\(status)"
    if let reason { text += ": \(reason)" }
    if !node.isEmpty { text += ", \(node.estimatedSize) bytes" }
    if !warnings.isEmpty { text += ", warns of \(warnings.joined(separator: ", "))" }
    return text
  }
}

extension Push: CustomStringConvertible {
  /// The push in one line, without data.
  public var description: String {
    switch self {
    case .overwrite(let path, let node, let tag):
      "overwrite \(path)\(Request.suffix(tag)), \(node.estimatedSize) bytes"
    case .merge(let path, let changes, let tag):
      "merge \(path)\(Request.suffix(tag)), \(changes.count) changes"
    case .rangeMerge(let path, let ranges, let tag):
      "range merge \(path)\(Request.suffix(tag)), \(ranges.count) ranges"
    case .listenRevoked(let path, let spec): "listen revoked \(path) \(spec.identifier)"
    case .authRevoked(let status, let reason): "auth revoked, \(status): \(reason)"
    case .appCheckRevoked(let status, let reason): "app check revoked, \(status): \(reason)"
    case .debug(let words): "debug: \(words)"
    }
  }
}
