import ConiferQuery
import ConiferTree

extension ServerMessage {
  private static let actions: Set = ["d", "m", "rm", "c", "ac", "apc", "sd"]

  /// Reads the text of one message, as a server sends it.
  ///
  /// A push of an unknown kind, or with an invalid query, is `unknown`.
  ///
  /// - Parameter bytes: the whole text, in UTF-8.
  /// - Throws: `malformed`; `tooLarge` when arrays and objects are nested too deeply.
  public init(decoding bytes: [UInt8]) throws(WireError) {
    if bytes == [UInt8(ascii: "0")] {
      self = .unknown("keep-alive")
      return
    }
    switch try WireEnvelope(bytes, actions: Self.actions, hasAnswers: true).content {
    case .control(let kind, var value): self = try Self.control(kind, &value)
    case .unknown(let words): self = .unknown(words)
    case .error(let words): self = .error(words)
    case .data(let number, let action?, let body):
      try body.requireTree()
      if let push = try Push(action, body) {
        self = .push(push)
      } else {
        self = .unknown("\(action.excerpt)\(number == nil ? "" : " with a number")")
      }
    case .data(let number?, nil, let body):
      try body.requireTree()
      self = .response(number, try Response(body))
    case .data: throw WireError(.malformed, "A message has neither a number nor an action.")
    }
  }

  private static func control(
    _ kind: String, _ value: inout WireReader
  ) throws(WireError) -> ServerMessage {
    switch kind {
    case "h": return .hello(try Hello(&value))
    case "r":
      guard let host = try value.string(), !host.isEmpty else {
        throw WireError(.malformed, "A server sends the client to no host.")
      }
      return .reset(host: host)
    case "s": return .shutdown(try value.node().leaf?.words ?? "")
    case "e": return .error(try value.node().leaf?.words ?? "")
    case "o": return .pong
    default: return .unknown("control \(kind.excerpt)")
    }
  }
}

extension Hello {
  fileprivate init(_ reader: inout WireReader) throws(WireError) {
    var time: Int64?
    var host = ""
    var session = ""
    try reader.object { (reader, name) throws(WireError) in
      switch name {
      case "ts": time = try reader.integer()
      case "h": host = try reader.string() ?? ""
      case "s": session = try reader.string() ?? ""
      default: try reader.skip()
      }
    }
    guard let time else { throw WireError(.malformed, "A server's hello has no time.") }
    self.init(timestamp: time, host: host, session: session)
  }
}

extension Response {
  fileprivate init(_ body: WireBody) throws(WireError) {
    guard let status = body.status else {
      throw WireError(.malformed, "An answer has no status.")
    }
    let node = body.node ?? .empty
    if status == Status.ok.rawValue {
      self.init(.ok, node: node, warnings: node[Key("w")].children.compactMap(\.node.leaf?.text))
    } else {
      self.init(Status(rawValue: status), reason: body.reason)
    }
  }
}

extension Push {
  /// The push of an action with a body; nil when its query is invalid or its kind unknown.
  fileprivate init?(_ action: String, _ body: WireBody) throws(WireError) {
    switch action {
    case "d": self = .overwrite(try body.requiredPath(), body.node ?? .empty, tag: body.tag)
    case "m": self = .merge(try body.requiredPath(), body.changes ?? [], tag: body.tag)
    case "rm": self = .rangeMerge(try body.requiredPath(), body.ranges, tag: body.tag)
    case "c":
      let path = try body.requiredPath()
      switch body.query {
      case nil: self = .listenRevoked(path, .default)
      case .success(let spec)?: self = .listenRevoked(path, spec)
      case .failure?: return nil
      }
    case "ac": self = .authRevoked(body.refusal, reason: body.reason ?? "")
    case "apc": self = .appCheckRevoked(body.refusal, reason: body.reason ?? "")
    case "sd": self = .debug(body.words ?? "")
    default: return nil
    }
  }
}

extension WireBody {
  fileprivate var refusal: Response.Status {
    status.map { Response.Status(rawValue: $0) } ?? .failure
  }
}
