import ConiferQuery
import ConiferTree

extension ClientMessage {
  private static let actions: Set = [
    "q", "n", "g", "p", "m", "o", "om", "oc", "auth", "gauth", "unauth", "appcheck", "unappeck",
    "s",
  ]

  /// Reads the text of one message, as a client sends it.
  ///
  /// A request of an unknown kind, or with an invalid query, is `unknown`; one
  /// with data that no tree can hold, or whose body lacks a member or has one of the wrong type, is
  /// `invalid`; one whose arrays and objects are nested too deeply is `tooLarge`.
  ///
  /// - Parameter bytes: the whole text, in UTF-8.
  /// - Throws: `malformed`; `tooLarge` of what is nested too deeply and has no number.
  package init(decoding bytes: [UInt8]) throws(WireError) {
    do throws(WireError) {
      try self.init(taking: bytes)
    } catch {
      var finder = RequestNumberFinder()
      if error.code == .tooLarge { finder.read(bytes) }
      guard let number = finder.number else { throw error }
      self = .tooLarge(number, reason: error.message)
    }
  }

  private init(taking bytes: [UInt8]) throws(WireError) {
    if bytes == [UInt8(ascii: "0")] {
      self = .keepAlive
      return
    }
    switch try WireEnvelope(bytes, actions: Self.actions, hasAnswers: false).content {
    case .control("p", _): self = .ping
    case .control(let kind, _): self = .unknown(nil, action: "control \(kind.excerpt)")
    case .unknown(let words): self = .unknown(nil, action: words)
    case .error: self = .unknown(nil, action: "error")
    case .data(let number, let action?, let body):
      guard Self.actions.contains(action) else {
        self = .unknown(number, action: action.excerpt)
        return
      }
      guard let number else { throw WireError(.malformed, "A request has no number.") }
      if let reason = body.invalid {
        self = .invalid(number, reason: reason)
        return
      }
      do throws(WireError) {
        let request = try Request(action, body)
        self = request.map { .request(number, $0) } ?? .unknown(number, action: action)
      } catch {
        self = .invalid(number, reason: error.message)
      }
    case .data: throw WireError(.malformed, "A request has no action.")
    }
  }
}

extension Request {
  /// The request of an action with a body; nil when its query is invalid.
  fileprivate init?(_ action: String, _ body: WireBody) throws(WireError) {
    switch action {
    case "q":
      guard let target = try body.target() else { return nil }
      self = .listen(target, tag: body.tag, hash: body.hash ?? "", compound: body.compound)
    case "n":
      guard let target = try body.target() else { return nil }
      self = .unlisten(target, tag: body.tag)
    case "g":
      guard let target = try body.target() else { return nil }
      self = .get(target)
    case "p": self = .put(try body.requiredPath(), try body.requiredNode(), hash: body.hash)
    case "m": self = .merge(try body.requiredPath(), try body.requiredChanges())
    case "o": self = .onDisconnectPut(try body.requiredPath(), try body.requiredNode())
    case "om": self = .onDisconnectMerge(try body.requiredPath(), try body.requiredChanges())
    case "oc": self = .onDisconnectCancel(try body.requiredPath())
    case "auth", "gauth":
      guard let token = body.token else {
        throw WireError(.malformed, "A request to authenticate has no token.")
      }
      self = .authenticate(Credential(token, override: body.override))
    case "unauth": self = .unauthenticate
    case "appcheck": self = .appCheck(body.token)
    case "unappeck": self = .appCheck(nil)
    case "s": self = .stats(body.counters)
    default: return nil
    }
  }
}
