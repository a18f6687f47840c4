/// Where a database gets tokens from: the app's sign-in.
public protocol TokenProvider: Sendable {
  /// The token of who is signed in, or nil when nobody is.
  ///
  /// Asked when connecting, shortly before a token expires, and when the server no longer takes it.
  ///
  /// - Parameter forcingRefresh: whether a token that the provider still has must not be given again.
  /// - Throws: when it cannot tell now; the database waits, and asks again.
  func token(forcingRefresh: Bool) async throws -> AuthToken?
}
