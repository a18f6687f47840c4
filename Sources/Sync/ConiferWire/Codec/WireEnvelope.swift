import ConiferTree

/// The parts of a message, whatever their order in the text.
struct WireEnvelope {
  /// The kind of a message.
  enum Content {
    /// A request, its answer, or a push.
    case data(number: UInt64?, action: String?, WireBody)
    /// A message about the connection: its kind and its value.
    case control(String, WireReader)
    /// An error that the server reports.
    case error(String)
    /// A message of another kind.
    case unknown(String)
  }

  let content: Content

  /// Reads a message's parts.
  ///
  /// - Parameters:
  ///   - bytes: its text.
  ///   - actions: the actions whose bodies are read; other bodies are skipped.
  ///   - hasAnswers: whether a message with a number and without an action is an answer.
  init(_ bytes: [UInt8], actions: Set<String>, hasAnswers: Bool) throws(WireError) {
    var kind: String?
    var content: Content?
    var late: WireReader?
    func read(_ reader: inout WireReader, _ kind: String) throws(WireError) -> Content {
      switch kind {
      case "d": return try Self.data(&reader, actions, hasAnswers)
      case "c": return try Self.control(&reader)
      default:
        try reader.skip()
        return .unknown("of kind \(kind.excerpt)")
      }
    }
    var reader = WireReader(bytes)
    try reader.object { (reader, name) throws(WireError) in
      switch name {
      case "t": kind = try reader.string()
      case "d":
        if let kind {
          content = try read(&reader, kind)
        } else {
          late = reader
          try reader.skip()
        }
      default: try reader.skip()
      }
    }
    try reader.end()
    if content == nil, let kind, var late { content = try read(&late, kind) }
    guard let content else {
      throw WireError(.malformed, "A message has no kind or no content.")
    }
    self.content = content
  }

  private static func data(
    _ reader: inout WireReader, _ actions: Set<String>, _ hasAnswers: Bool
  ) throws(WireError) -> Content {
    var number: UInt64?
    var action: String?
    var complaint: String?
    var body: WireBody?
    var late: WireReader?
    func read(_ reader: inout WireReader) throws(WireError) -> WireBody {
      if let action, !actions.contains(action) {
        try reader.skip()
        return WireBody()
      }
      if hasAnswers { return try WireBody(&reader, action) }
      let start = reader
      do throws(WireError) {
        return try WireBody(&reader, action)
      } catch {
        guard error.code == .malformed else { throw error }
        // When the rest is JSON, only this request is invalid, not the connection.
        reader = start
        try reader.skip()
        var body = WireBody()
        body.invalid = error.message
        return body
      }
    }
    try reader.object { (reader, name) throws(WireError) in
      switch name {
      case "r":
        guard let value = try reader.integer().map({ UInt64(exactly: $0) }) else { return }
        guard let value else { throw WireError(.malformed, "The number of a request is negative.") }
        number = value
      case "a": action = try reader.string()
      case "b":
        if action != nil || (hasAnswers && number != nil) {
          body = try read(&reader)
        } else {
          late = reader
          try reader.skip()
        }
      case "error": complaint = try reader.node().leaf?.words ?? ""
      default: try reader.skip()
      }
    }
    if body == nil, var late { body = try read(&late) }
    if let complaint, action == nil { return .error(complaint) }
    return .data(number: number, action: action, body ?? WireBody())
  }

  private static func control(_ reader: inout WireReader) throws(WireError) -> Content {
    var kind: String?
    var value: WireReader?
    try reader.object { (reader, name) throws(WireError) in
      switch name {
      case "t": kind = try reader.string()
      case "d":
        value = reader
        try reader.skip()
      default: try reader.skip()
      }
    }
    guard let kind else { throw WireError(.malformed, "A control message has no kind.") }
    return .control(kind, value ?? WireReader(Array("null".utf8)))
  }
}
