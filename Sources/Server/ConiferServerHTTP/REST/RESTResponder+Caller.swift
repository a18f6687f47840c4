import ConiferServer
import ConiferTree
import ConiferWire

extension RESTResponder {
  /// The user of a request; nil for nobody.
  ///
  /// An `Authorization: Bearer` header takes precedence over `access_token`, and that over `auth`.
  func caller(of request: HTTPRequest) throws(RESTRefusal) -> VerifiedToken? {
    var caller: VerifiedToken?
    if let token = bearer(request) ?? request.parameter("access_token") {
      switch configuration.bearers {
      case .administrators: caller = VerifiedToken(uid: "", isAdmin: true)
      case .verified: caller = try verified(token)
      }
    } else if let token = request.parameter("auth"), !token.isEmpty {
      caller = try verified(token)
    }
    // Every page may load scripts, and a browser does not always name the page.
    if caller?.isAdmin == true, RESTParameters.callback(request) != nil {
      throw RESTRefusal(403, "Administrators may not request scripts. Leave out callback.")
    }
    guard let text = request.parameter("auth_variable_override") else { return caller }
    guard caller?.isAdmin == true else {
      throw RESTRefusal(401, "auth_variable_override is for administrators alone.")
    }
    return try overridden(text)
  }

  private func bearer(_ request: HTTPRequest) -> String? {
    guard let header = request.header("authorization") else { return nil }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return String(parts[1])
  }

  private func verified(_ token: String) throws(RESTRefusal) -> VerifiedToken {
    do throws(TokenRefusal) {
      return try server.verify(Credential(token))
    } catch {
      throw RESTRefusal(error)
    }
  }

  /// The user as whom an administrator acts: an object becomes `auth` in the rules, null is nobody.
  private func overridden(_ text: String) throws(RESTRefusal) -> VerifiedToken? {
    do throws(JSONError) {
      let node = try Node(json: Array(text.utf8), limits: .init(depth: 32, stringBytes: 64 << 10))
      switch text.utf8.first(where: { $0 > 0x20 }) {
      case UInt8(ascii: "{")? where !node.isLeaf: return VerifiedToken(overriding: node)
      case UInt8(ascii: "n")?: return nil
      default: break
      }
    } catch {}
    throw RESTRefusal(400, "auth_variable_override must be a JSON object or null.")
  }
}
