/// A token by which a server knows a client.
///
/// Its description never shows the token.
public struct Credential: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  /// The token's text: a JSON Web Token, or another one that the server takes.
  public let token: String

  /// A token.
  public init(_ token: String) { self.token = token }

  /// Hides the token.
  public var description: String { "Credential(hidden)" }

  /// Hides the token, also from dumps.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
