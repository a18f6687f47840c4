public import ConiferTree

/// The user id, claims and expiry of a verified token.
public struct VerifiedToken: Hashable, Sendable {
  /// The user's id: `auth.uid` of rules.
  public var uid: String
  /// The other claims: `auth.token` of rules.
  public var claims: Node
  /// When the token expires, in milliseconds since 1970 by the server's clock; nil for never.
  public var expires: Int64?
  /// Whether rules do not apply.
  public var isAdmin: Bool
  /// The whole value of `auth` in rules, for an administrator who acts as a user. Nil to build it
  /// from the `uid` and the claims.
  public var variable: Node?

  /// The content of a token.
  ///
  /// - Parameters:
  ///   - uid: the user's id.
  ///   - claims: the other claims.
  ///   - expires: when it expires, in milliseconds since 1970; nil for never.
  ///   - isAdmin: whether rules do not apply.
  ///   - variable: the whole value of `auth` in rules; nil to build it from the `uid` and the
  ///     claims.
  public init(
    uid: String, claims: Node = .empty, expires: Int64? = nil, isAdmin: Bool = false,
    variable: Node? = nil
  ) {
    self.uid = uid
    self.claims = claims
    self.expires = expires
    self.isAdmin = isAdmin
    self.variable = variable
  }
}

extension VerifiedToken {
  /// `auth` of rules: `uid`, `token` with the claims, and `provider`, as the Realtime Database has it.
  var authVariable: Node {
    if let variable { return variable }
    let claimed = claims["firebase" as Key]["sign_in_provider" as Key]
    let children: [(Key, Node)] = [
      ("uid", Node(.string(uid))), ("token", claims),
      ("provider", claimed.isLeaf ? claimed : claims["provider_id" as Key]),
    ]
    return Node(children: children)
  }
}
