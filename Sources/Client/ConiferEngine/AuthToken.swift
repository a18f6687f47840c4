import ConiferStorage

/// A sign-in token of the app's user, with the user's identity and the time when the token expires.
///
/// Neither its description nor its mirror shows the token.
public struct AuthToken: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  /// The token's text: a JSON Web Token, or another one that the server takes.
  public let token: String
  /// The identity of the user that it is for, such as a user id; it names the lane of the writes
  /// made with it. Not empty.
  public let identity: String
  /// When it expires, in milliseconds since 1970; nil when it does not, or nobody knows.
  public let expiry: Int64?

  /// A token.
  ///
  /// - Parameters:
  ///   - token: its text.
  ///   - identity: who it is for; 1 to 256 UTF-8 bytes.
  ///   - expiry: when it expires, in milliseconds since 1970, if it does.
  public init(_ token: String, identity: String, expiry: Int64? = nil) {
    self.token = token
    self.identity = identity
    self.expiry = expiry
  }

  /// Hides the token.
  public var description: String { "AuthToken(hidden, for: \(identity))" }
  /// Hides the token.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension AuthToken {
  /// Why no lane can be named by its identity; nil when one can.
  package var identityFault: String? {
    guard !(1...Lane.longestIdentity).contains(identity.utf8.count) || identity.utf8.contains(0)
    else { return nil }
    return
      "The token's identity is not 1 to \(Lane.longestIdentity) UTF-8 bytes without a zero. Give the user's id."
  }
}
