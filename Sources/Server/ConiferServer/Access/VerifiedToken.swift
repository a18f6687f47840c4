public import ConiferTree

/// What a token says, once it was checked.
public struct VerifiedToken: Hashable, Sendable {
  /// Who the client is: `auth.uid` of rules.
  public var uid: String
  /// What else the token says: `auth.token` of rules.
  public var claims: Node
  /// When the token's time is over, in milliseconds since 1970 by the server's clock; nil for never.
  public var expires: Int64?
  /// Whether rules do not apply.
  public var isAdmin: Bool

  /// What a token says.
  ///
  /// - Parameters:
  ///   - uid: who the client is.
  ///   - claims: what else the token says.
  ///   - expires: when its time is over, in milliseconds since 1970; nil for never.
  ///   - isAdmin: whether rules do not apply.
  public init(uid: String, claims: Node = .empty, expires: Int64? = nil, isAdmin: Bool = false) {
    self.uid = uid
    self.claims = claims
    self.expires = expires
    self.isAdmin = isAdmin
  }
}
