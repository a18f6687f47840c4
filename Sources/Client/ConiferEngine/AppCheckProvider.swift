/// The source of the app's own tokens, by which a server tells the app from other programs: those of Firebase's App Check,
/// or of another attestation.
///
/// They stand beside the user's tokens of a ``TokenProvider``. Without one, or while the provider fails, the client goes on:
/// it is the server that decides what it lets such a client do.
public protocol AppCheckProvider: Sendable {
  /// The app's token.
  ///
  /// Asked when connecting without a token that is still good, shortly before one expires, when the app says that it has
  /// another one, and when the server no longer takes the last one. An answer that does not come within five minutes counts as
  /// lost: the call's task is cancelled, and another one is made, when a token is needed.
  ///
  /// - Parameter forcingRefresh: whether a token that the provider still has must not be given again.
  /// - Throws: when there is none now; the client goes on without, and asks again. The error's type alone is logged, as its
  ///   words may hold a token.
  func token(forcingRefresh: Bool) async throws -> AppCheckToken
}

/// A token of the app itself, with the time when it expires.
///
/// Neither its description nor its mirror shows the token.
public struct AppCheckToken: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  /// The token's text.
  public let token: String
  /// When it expires, in milliseconds since 1970; nil when it does not, or nobody knows.
  public let expiry: Int64?

  /// A token.
  ///
  /// - Parameters:
  ///   - token: its text.
  ///   - expiry: when it expires, in milliseconds since 1970, if it does.
  public init(_ token: String, expiry: Int64? = nil) {
    self.token = token
    self.expiry = expiry
  }

  /// Hides the token.
  public var description: String { "AppCheckToken(hidden)" }
  /// Hides the token.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
