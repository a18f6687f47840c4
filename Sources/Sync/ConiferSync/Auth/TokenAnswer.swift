/// What the app's token provider says.
package enum TokenAnswer: Hashable, Sendable {
  /// Somebody is signed in.
  case token(UserToken)
  /// Nobody is signed in.
  case signedOut
  /// It cannot tell now, for example because its own server is out of reach; with the reason.
  case failed(String)
}
