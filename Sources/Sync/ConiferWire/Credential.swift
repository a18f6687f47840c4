public import ConiferTree

/// A token by which a client signs in at a server.
///
/// Its description never shows the token.
public struct Credential: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  /// The user, or nobody, as whom an administrator wants to act.
  public enum Override: Hashable, Sendable {
    /// Somebody who shows no token.
    case nobody
    /// The bearer of a token with these claims, `uid` among them.
    case claims(Node)
  }

  /// The token's text: a JSON Web Token, or another one that the server accepts.
  public let token: String
  /// As whom its bearer wants to act, which only an administrator may; nil for themselves.
  public let override: Override?

  /// A token.
  ///
  /// - Parameters:
  ///   - token: its text.
  ///   - override: as whom an administrator wants to act.
  public init(_ token: String, override: Override? = nil) {
    self.token = token
    self.override = override
  }

  /// The token where it can stand in a header, which holds printable ASCII alone; nil otherwise.
  package var headerText: String? {
    token.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? token : nil
  }

  /// Hides the token.
  public var description: String { "Credential(hidden)" }

  /// Hides the token, also from dumps.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
