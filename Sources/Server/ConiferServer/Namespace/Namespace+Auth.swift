public import ConiferTree
import ConiferWire

extension Namespace {
  /// Checks a token and makes the session its bearer's; a refused token makes it nobody's.
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
        sessions[id]?.become(nil)
        return .ok
      }
      verified = VerifiedToken(overriding: claims, expires: verified.expires)
    }
    sessions[id]?.become(verified)
    return Response(.ok, node: verified.node(now: now))
  }

  private mutating func refuse(_ status: Response.Status, _ id: SessionID) {
    // A client that has only the token that expired is still whom it was.
    let lapsed = status == .expiredToken ? sessions[id]?.lapsed : nil
    sessions[id]?.become(nil)
    sessions[id]?.lapsed = lapsed
  }
}

extension VerifiedToken {
  /// Whom an administrator wants to be taken for.
  ///
  /// - Parameters:
  ///   - claims: what the token of that bearer would say, `uid` among it.
  ///   - expires: when the administrator's own time is over.
  public init(overriding claims: Node, expires: Int64? = nil) {
    var uid = ""
    if case .string(let text)? = claims[Key("uid")].leaf { uid = text }
    self.init(uid: uid, claims: claims, expires: expires, variable: claims)
  }

  /// What the client is told: `auth`, and the seconds left as `expires`.
  fileprivate func node(now: Int64) -> Node {
    let auth = (claims.isLeaf ? .empty : claims).setting("uid" as Key, to: Node(.string(uid)))
    let seconds = expires.map { Node(.integer(max(0, $0 &- now) / 1000)) } ?? .empty
    return ["auth": auth, "expires": seconds]
  }
}
