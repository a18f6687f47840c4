public import ConiferDocument

/// The user that a token stands for, with the token's claims and expiry.
public struct DocumentUser: Sendable, Hashable {
  /// The user's id.
  public var id: String
  /// What else the token says.
  public var claims: MapValue
  /// When the token expires by the server's clock; nil for never.
  public var expires: Timestamp?
  /// Whether nothing is forbidden.
  public var isAdmin: Bool

  /// A user.
  ///
  /// - Parameters:
  ///   - id: the user's id.
  ///   - claims: what else the token says.
  ///   - expires: when the token expires; nil for never.
  ///   - isAdmin: whether nothing is forbidden.
  public init(
    _ id: String, claims: MapValue = .empty, expires: Timestamp? = nil, isAdmin: Bool = false
  ) {
    self.id = id
    self.claims = claims
    self.expires = expires
    self.isAdmin = isAdmin
  }
}
