public import ConiferTree
import ConiferWire

extension Namespace {
  /// Verifies a token and sets the session's user; a refused token sets the session to nobody.
  mutating func authenticate(
    _ credential: Credential, of id: SessionID, now: Int64
  ) -> Response {
    var verified: VerifiedToken
    do throws(TokenRefusal) {
      verified = try authenticator.verify(Credential(credential.token), now: now)
    } catch {
      refuse(error.status, id)
      return Response(error.status, reason: error.reason)
    }
    if let expires = verified.expires {
      guard expires > now else {
        refuse(.expiredToken, id)
        return Response(.expiredToken, reason: TokenRefusal.expired.reason)
      }
      outputs.append(.wake(expires))
    }
    if verified.isAdmin, let override = credential.override {
      guard case .claims(let claims) = override else {
        sessions[id]?.setUser(nil)
        return .ok
      }
      verified = VerifiedToken(overriding: claims, expires: verified.expires)
    }
    sessions[id]?.setUser(verified)
    return Response(.ok, node: verified.node(now: now))
  }

  private mutating func refuse(_ status: Response.Status, _ id: SessionID) {
    // A client whose token merely expired keeps its user.
    let lapsed = status == .expiredToken ? sessions[id]?.lapsed : nil
    sessions[id]?.setUser(nil)
    sessions[id]?.lapsed = lapsed
  }
}

extension VerifiedToken {
  /// The token of an administrator who acts as a user.
  ///
  /// - Parameters:
  ///   - claims: the claims of that user's token, with `uid`.
  ///   - expires: when the administrator's own token expires.
  public init(overriding claims: Node, expires: Int64? = nil) {
    var uid = ""
    if case .string(let text)? = claims[Key("uid")].leaf { uid = text }
    self.init(uid: uid, claims: claims, expires: expires, variable: claims)
  }

  /// The answer to the client: `auth`, and the remaining seconds as `expires`.
  fileprivate func node(now: Int64) -> Node {
    let auth = (claims.isLeaf ? .empty : claims).setting("uid" as Key, to: Node(.string(uid)))
    let seconds = expires.map { Node(.integer(max(0, $0 &- now) / 1000)) } ?? .empty
    return ["auth": auth, "expires": seconds]
  }
}
