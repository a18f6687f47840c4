import ConiferTree
import ConiferWire

extension Namespace {
  /// Checks a token and makes the session its bearer's; a refused token makes it nobody's.
  mutating func authenticate(
    _ credential: Credential, of id: SessionID, now: Int64
  ) -> Response {
    let verified: VerifiedToken
    do throws(TokenRefusal) {
      verified = try authenticator.verify(credential, now: now)
    } catch {
      sessions[id]?.auth = nil
      return Response(error.status, reason: error.reason)
    }
    if let expires = verified.expires {
      guard expires > now else {
        sessions[id]?.auth = nil
        return Response(.expiredToken, reason: TokenRefusal.expired.reason)
      }
      outputs.append(.wake(expires))
    }
    sessions[id]?.auth = verified
    return Response(.ok, node: verified.node(now: now))
  }
}

extension VerifiedToken {
  /// What the client is told: `auth`, and the seconds left as `expires`.
  fileprivate func node(now: Int64) -> Node {
    let auth = (claims.isLeaf ? .empty : claims).setting("uid" as Key, to: Node(.string(uid)))
    let seconds = expires.map { Node(.integer(max(0, $0 &- now) / 1000)) } ?? .empty
    return ["auth": auth, "expires": seconds]
  }
}
