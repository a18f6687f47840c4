import ConiferDocument
public import ConiferDocumentServer
public import ConiferServer
import ConiferTree
import ConiferWire

extension DocumentAccess {
  /// Access of the users whose tokens an authenticator of the tree's server accepts.
  ///
  /// - Parameters:
  ///   - authenticator: verifies tokens; one that it refuses is answered `unauthenticated`.
  ///   - clock: the time by which it does.
  ///   - allows: what a user, or nobody, may do; nil for everything.
  ///   - requiresToken: whether who shows no token is answered `unauthenticated`. False unless told.
  public init(
    verifying authenticator: any Authenticator, clock: ServerClock = ServerClock(),
    allows: (@Sendable (DocumentUser?, DocumentRequest) -> Bool)? = nil,
    requiresToken: Bool = false
  ) {
    self.init(
      user: { token in
        do throws(TokenRefusal) {
          return DocumentUser(try authenticator.verify(Credential(token), now: clock.now))
        } catch { return nil }
      }, allows: allows, requiresToken: requiresToken)
  }
}

extension DocumentUser {
  fileprivate init(_ token: VerifiedToken) {
    self.init(
      token.uid, claims: MapValue(token.claims), expires: token.expires.flatMap(Timestamp.init),
      isAdmin: token.isAdmin)
  }
}

extension Timestamp {
  /// The time of milliseconds since 1970; nil when there is no such time.
  fileprivate init?(_ milliseconds: Int64) {
    let seconds = milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000
    let rest = Int32(milliseconds - seconds * 1000)
    do throws(DocumentError) {
      try self.init(seconds: seconds, nanoseconds: rest * 1_000_000)
    } catch { return nil }
  }
}

extension MapValue {
  /// The children of a node, as fields.
  fileprivate init(_ node: Node) {
    self.init(node.children.map { ($0.key.string, DocumentValue($0.node)) })
  }
}

extension DocumentValue {
  fileprivate init(_ node: Node) {
    switch node.leaf {
    // No token holds server values.
    case nil, .serverValue?: self = .map(MapValue(node))
    case .string(let text)?: self = .string(text)
    case .bool(let flag)?: self = .boolean(flag)
    case .integer(let number)?: self = .integer(number)
    case .double(let number)?: self = .double(number)
    }
  }
}
