import ConiferWire

/// Which token a connection shows, when the provider is asked for one, and why writes wait.
///
/// A token is replaced before its expiry. A refused one is replaced by force: at once, then after
/// a delay, and from the third refusal in a row every 30 seconds.
struct AuthMachine: Sendable {
  let limits: ConnectionLimits
  /// Whether there is a provider at all.
  let usesTokens: Bool
  /// The last token that the provider gave; nil when nobody is signed in.
  private(set) var token: AuthToken?
  /// The uptime at which its time is over.
  private(set) var expiry: Milliseconds?
  /// The uptime at which the provider is asked next, while connected.
  private(set) var fetchAt: Milliseconds?
  /// The number of what the provider was asked or told last; older answers are out of date.
  private(set) var newestFetch: UInt64 = 0
  /// Since when the provider is being asked.
  private(set) var fetchingSince: Milliseconds?
  /// Whether the last token is of no use.
  private(set) var mustForce = false
  /// How often tokens were refused in a row.
  private(set) var refusals = 0
  /// How often the provider failed in a row.
  private(set) var failures = 0
  /// The uptime at which the server took the token; nil when it has not, or no longer does.
  private var takenAt: Milliseconds?
  /// Why writes wait.
  private(set) var trouble: AuthState?

  init(_ limits: ConnectionLimits, usesTokens: Bool, token: AuthToken?) {
    self.limits = limits
    self.usesTokens = usesTokens
    self.token = usesTokens ? token : nil
  }

  /// Whether attempts are to keep the longest distance.
  var isSlowed: Bool { refusals >= 3 }

  /// Begins to ask the provider, unless it is being asked; whether that is new.
  ///
  /// - Parameter isAnew: whether to ask even so, since an answer under way may be out of date.
  mutating func beginFetch(at now: Milliseconds, isAnew: Bool = false) -> Bool {
    fetchAt = nil
    guard isAnew || fetchingSince == nil else { return false }
    fetchingSince = now
    newestFetch += 1
    return true
  }

  /// Whether an answer is the newest there is; one that came unasked makes all earlier ones old.
  mutating func isCurrent(_ fetch: UInt64?) -> Bool {
    guard let fetch else {
      newestFetch += 1
      return true
    }
    return fetch >= newestFetch
  }

  /// Takes the provider's token, or that there is none.
  mutating func take(_ new: AuthToken?, at now: Moment, offset: Int64) {
    fetchingSince = nil
    failures = 0
    mustForce = false
    token = new
    if case .unavailable = trouble { trouble = nil }
    if new == nil {
      trouble = nil
      refusals = 0
    }
    reckon(at: now, offset: offset)
  }

  /// Reckons anew when the token is to be replaced and when its time is over.
  ///
  /// A time that is over already says nothing: the server's clock decides.
  mutating func reckon(at now: Moment, offset: Int64) {
    expiry = nil
    fetchAt = nil
    guard let end = token?.expiry else { return }
    let left = end.subtracting(now.wallTime.adding(offset))
    guard left > 0 else { return }
    expiry = now.uptime.adding(left)
    fetchAt = now.uptime.adding(left - min(limits.refreshMargin, left / 2))
  }

  /// Whether the token at hand may serve while the provider fails.
  func canUseLast(at now: Moment, offset: Int64) -> Bool {
    guard let token, !mustForce else { return false }
    return token.expiry.map { $0 > now.wallTime.adding(offset) } ?? true
  }

  /// Notes that the provider failed, or did not answer.
  ///
  /// - Parameters:
  ///   - reason: in the provider's words.
  ///   - retry: the uptime of the next try, while connected.
  ///   - isBlocking: whether there can be no connection without a token.
  mutating func noteFailure(_ reason: String, retry: Milliseconds, isBlocking: Bool) {
    fetchingSince = nil
    failures += 1
    fetchAt = retry
    switch trouble {
    case .expired, .refused: break
    default: if isBlocking { trouble = .unavailable(reason) }
    }
  }

  /// Notes that the server took the token. That alone does not end a row of refusals: it may take
  /// each one only to revoke it.
  mutating func noteTaken(at now: Milliseconds) {
    takenAt = now
    trouble = nil
  }

  /// Notes that the server answered a request as that of the token's owner.
  mutating func noteTrusted() { refusals = 0 }

  /// Ends a row of refusals if the last token was taken for long enough.
  mutating func noteSteady(at now: Milliseconds) {
    if let takenAt, now.subtracting(takenAt) >= limits.steadyTime { refusals = 0 }
    takenAt = nil
  }

  /// Notes that the server did not take the token, or no longer does.
  ///
  /// - Parameter delay: until the provider is asked after a second refusal.
  mutating func noteRefusal(
    _ status: Response.Status, _ reason: String, at now: Milliseconds, delay: Milliseconds
  ) {
    noteSteady(at: now)
    refusals += 1
    mustForce = true
    expiry = nil
    trouble = status == .expiredToken ? .expired(reason) : .refused(reason)
    switch refusals {
    case 1: fetchAt = now
    case 2: fetchAt = now.adding(delay)
    default: fetchAt = now.adding(limits.longestDelay)
    }
  }

  /// Notes that the token's time is over, as far as the client knows.
  mutating func noteExpiry(at now: Milliseconds) {
    expiry = nil
    mustForce = true
    trouble = .expired("The token's time is over.")
    if fetchAt == nil || refusals == 0 { fetchAt = now }
  }
}
