package import ConiferWire

/// A user's token as a connection shows it. The client's public `AuthToken` is its app's form; apps
/// never see this module.
///
/// Its description never shows the token.
package struct UserToken: Hashable, Sendable, CustomStringConvertible {
  /// What the server is shown.
  package let credential: Credential
  /// The user, for example a user id; never empty. It names the lane of that user's writes.
  package let identity: String
  /// When the token expires, in milliseconds since 1970; nil when that is unknown.
  package let expiry: Int64?

  /// A token.
  ///
  /// - Parameters:
  ///   - credential: what the server is shown.
  ///   - identity: the user; not empty.
  ///   - expiry: in milliseconds since 1970; nil when that is unknown.
  package init(_ credential: Credential, identity: String, expiry: Int64? = nil) {
    self.credential = credential
    self.identity = identity
    self.expiry = expiry
  }

  /// The identity and the expiry.
  package var description: String {
    "UserToken(of \(identity), until \(expiry.map { String($0) } ?? "unknown"))"
  }
}
