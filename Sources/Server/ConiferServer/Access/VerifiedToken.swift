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
  /// All that `auth` of rules is, for who is no bearer of a token of the usual kind: an administrator
  /// who acts as somebody. Nil to make it of the `uid` and the claims.
  public var variable: Node?

  /// What a token says.
  ///
  /// - Parameters:
  ///   - uid: who the client is.
  ///   - claims: what else the token says.
  ///   - expires: when its time is over, in milliseconds since 1970; nil for never.
  ///   - isAdmin: whether rules do not apply.
  ///   - variable: all that `auth` of rules is; nil to make it of the `uid` and the claims.
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
