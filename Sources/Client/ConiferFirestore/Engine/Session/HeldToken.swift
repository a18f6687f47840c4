import ConiferEngine

/// The token of the user whose writes the engine shows, as far as it is there.
enum HeldToken {
  /// The provider is to be asked.
  case unknown
  /// The server refused these tokens, nil being that of a request without one: a new one is to be fetched.
  case refused(Set<String?>)
  /// A token, nil when nobody is signed in, and when it ends; without a lifetime when it never ends, or when nobody here
  /// knows when.
  case known(AuthToken?, Lifetime?)

  /// Times of the clock, in milliseconds since 1970.
  struct Lifetime {
    let expiry: Int64
    /// From when on another token is asked for.
    let renewal: Int64

    /// How long before its end a token is replaced at most, in milliseconds.
    private static let longestMargin: Int64 = 60_000

    /// Nil when the end is past: this clock and the one that gave the token differ.
    init?(until expiry: Int64, at now: Int64) {
      guard expiry > now else { return nil }
      self.expiry = expiry
      // A token with a short life is not asked for with every request.
      renewal = expiry - min(Self.longestMargin, expiry / 2 - now / 2)
    }
  }

  /// A token has come. Where its end is past already, only the server can tell when it is over.
  init(_ token: AuthToken?, at now: Int64) {
    self = .known(token, token?.expiry.flatMap { Lifetime(until: $0, at: now) })
  }

  /// The server does not take a token with a text; it may be one that was replaced already.
  mutating func refuse(_ text: String?) {
    switch self {
    case .unknown: self = .refused([text])
    case .refused(let texts): self = .refused(texts.union([text]))
    case .known(let token, _): if token?.token == text { self = .refused([text]) }
    }
  }

  /// Whether the server refused a token with a text, and none came since.
  func isRefused(_ text: String?) -> Bool {
    if case .refused(let texts) = self { texts.contains(text) } else { false }
  }

  /// The provider gave no other one: it is asked again when half of the time that remains has passed.
  mutating func renewalFailed(at now: Int64) {
    guard case .known(let token, let old?) = self else { return }
    self = .known(token, Lifetime(until: old.expiry, at: now) ?? old)
  }
}
