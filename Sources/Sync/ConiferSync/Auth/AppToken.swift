package import ConiferWire

/// A token of the app itself as a connection shows it. Its description never shows the token.
package struct AppToken: Hashable, Sendable, CustomStringConvertible {
  /// What the server is shown.
  package let credential: Credential
  /// When the token expires, in milliseconds since 1970; nil when that is unknown.
  package let expiry: Int64?

  /// A token.
  ///
  /// - Parameters:
  ///   - credential: what the server is shown.
  ///   - expiry: in milliseconds since 1970; nil when that is unknown.
  package init(_ credential: Credential, expiry: Int64? = nil) {
    self.credential = credential
    self.expiry = expiry
  }

  /// The expiry.
  package var description: String {
    "AppToken(until \(expiry.map { String($0) } ?? "unknown"))"
  }
}

/// What the provider of the app's tokens says.
package enum AppTokenAnswer: Hashable, Sendable {
  /// There is one.
  case token(AppToken)
  /// There is none now; with the reason.
  case failed(String)
}
