/// The source of a database's sign-in tokens, which the app implements over its own sign-in.
public protocol TokenProvider: Sendable {
  /// The token of who is signed in, or nil when nobody is.
  ///
  /// Asked when connecting without a token that is still good, when somebody signs in or out, and when the server no longer
  /// takes the last one; also shortly before a token expires.
  ///
  /// - Parameter forcingRefresh: whether a token that the provider still has must not be given again.
  /// - Throws: when it cannot tell now; the database waits, and asks again.
  func token(forcingRefresh: Bool) async throws -> AuthToken?
}
