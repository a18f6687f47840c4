import ConiferQuery
import ConiferTree

extension ClientMessage {
  /// The text of the message, in UTF-8, as a client sends it.
  ///
  /// A message that is `unknown` or `invalid` has no body.
  public func encoded() -> [UInt8] {
    switch self {
    case .keepAlive: return [UInt8(ascii: "0")]
    case .ping:
      return WireWriter.message("c") { writer in
        writer.string("t", "p")
        writer.empty("d")
      }
    case .request(let number, let request):
      return WireWriter.message("d") { writer in
        writer.number(number)
        writer.string("a", request.action)
        writer.object("b") { request.write(to: &$0) }
      }
    case .unknown(let number, let action): return Self.bare(number, action)
    case .invalid(let number, _): return Self.bare(number, "invalid")
    case .tooLarge(let number, _): return Self.bare(number, "tooLarge")
    }
  }

  private static func bare(_ number: UInt64?, _ action: String) -> [UInt8] {
    WireWriter.message("d") { writer in
      if let number { writer.number(number) }
      writer.string("a", action)
      writer.empty("b")
    }
  }
}

extension Request {
  /// The action by which the protocol names the request.
  fileprivate var action: String {
    switch self {
    case .listen: "q"
    case .unlisten: "n"
    case .get: "g"
    case .put: "p"
    case .merge: "m"
    case .onDisconnectPut: "o"
    case .onDisconnectMerge: "om"
    case .onDisconnectCancel: "oc"
    case .authenticate(let credential): credential.isJWT ? "auth" : "gauth"
    case .unauthenticate: "unauth"
    case .appCheck(let token): token == nil ? "unappeck" : "appcheck"
    case .stats: "s"
    }
  }

  fileprivate func write(to writer: inout WireWriter) {
    switch self {
    case .listen(let target, let tag, let hash, let compound):
      writer.target(target, tag)
      writer.string("h", hash)
      writer.compoundHash(compound)
    case .unlisten(let target, let tag): writer.target(target, tag)
    case .get(let target):
      writer.clientPath(target.path)
      writer.query(target.spec)
    case .put(let path, let node, let hash):
      writer.clientPath(path)
      writer.node("d", node)
      writer.string("h", hash)
    case .onDisconnectPut(let path, let node):
      writer.clientPath(path)
      writer.node("d", node)
    case .merge(let path, let changes), .onDisconnectMerge(let path, let changes):
      writer.clientPath(path)
      writer.changes(changes)
    case .onDisconnectCancel(let path):
      writer.clientPath(path)
      writer.null("d")
    case .authenticate(let credential):
      writer.string("cred", credential.token)
      switch credential.override {
      case nil: break
      case .nobody?: writer.bool("noauth", true)
      case .claims(let node)? where node.isEmpty: writer.empty("authvar")
      case .claims(let node)?: writer.node("authvar", node)
      }
    case .unauthenticate: break
    case .appCheck(let token): writer.string("token", token)
    case .stats(let counters):
      writer.object("c") { writer in
        for (name, count) in counters.sorted(by: { $0.key < $1.key }) {
          writer.integer(name, Int64(count))
        }
      }
    }
  }
}

extension WireWriter {
  fileprivate mutating func target(_ target: QueryTarget, _ tag: Int?) {
    clientPath(target.path)
    if !target.spec.isDefault || tag != nil { query(target.spec) }
    self.tag(tag)
  }
}

extension Credential {
  /// Whether the token has the form of a JSON Web Token: three parts of base64url, of which the first
  /// is an object. Other tokens are sent with the action `gauth`.
  var isJWT: Bool {
    let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, token.hasPrefix("eyJ"), !parts[1].isEmpty else { return false }
    return parts.joined().allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
  }
}
