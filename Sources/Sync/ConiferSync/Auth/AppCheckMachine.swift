/// Which token of the app a connection shows, and when the provider is asked for one.
///
/// Such a token holds nothing up for good: without one, or while the provider fails, the client connects and goes on. It is
/// replaced before its expiry. A refused one is replaced by force: at once, then after a delay, and from the third refusal
/// in a row every 30 seconds; the connection stays, since servers end it themselves when they demand a token.
struct AppCheckMachine: Sendable {
  private let limits: ConnectionLimits
  /// Whether there is a provider at all.
  let isUsed: Bool
  /// The last token that the provider gave, until it expires or is refused.
  private(set) var token: AppToken?
  /// The uptime at which the token expires.
  private(set) var expiry: Milliseconds?
  /// The uptime at which the provider is asked next, while connected.
  private(set) var fetchAt: Milliseconds?
  /// Since when an answer is waited for.
  private(set) var since: Milliseconds?
  /// Whether the newest question took so long that nobody waits for its answer, which counts when it comes.
  private var isLate = false
  /// The number of the newest question; only its answer counts.
  private(set) var newest: UInt64 = 0
  /// Whether the newest question is for another token than the one there was.
  private(set) var isForced = false
  /// Whether the last token is of no use, so that the next question must force another one.
  private(set) var mustForce = false
  /// How often the provider failed in a row.
  private(set) var failures = 0
  /// How often tokens were refused in a row.
  private var refusals = 0
  /// The uptime at which the server took the token.
  private var acceptedAt: Milliseconds?

  init(_ limits: ConnectionLimits, isUsed: Bool) {
    self.limits = limits
    self.isUsed = isUsed
  }

  /// The uptime at which the provider has taken too long to answer.
  var answerDeadline: Milliseconds? { since?.adding(limits.appTokenTimeout) }

  // MARK: The provider

  /// Whether the provider is to be asked before connecting.
  mutating func isMissing(at now: Milliseconds) -> Bool {
    if let expiry, expiry <= now { expired(at: now) }
    return isUsed && token == nil && !(isLate && isFetching)
  }

  /// Whether the provider is being asked and its answer will be used; it may be the refused token when the question was
  /// asked before the refusal.
  var isFetching: Bool { (since != nil || isLate) && (isForced || !mustForce) }

  /// The provider is not asked at a set time any longer.
  mutating func cancelPlannedFetch() { fetchAt = nil }

  /// The provider is asked.
  mutating func beginFetch(at now: Milliseconds, isForced: Bool) {
    since = now
    isLate = false
    newest += 1
    self.isForced = isForced
  }

  /// Takes in a token. An expiry in the past is ignored, and the server decides by its own clock.
  mutating func take(_ new: AppToken, at now: ClockReading, offset: Int64) {
    since = nil
    isLate = false
    failures = 0
    mustForce = false
    token = new
    fetchAt = nil
    scheduleReplacement(at: now, offset: offset)
  }

  /// Computes when the token is to be replaced and when it expires.
  mutating func scheduleReplacement(at now: ClockReading, offset: Int64) {
    expiry = nil
    guard let end = token?.expiry else { return }
    fetchAt = nil
    let left = end.subtracting(now.wallTime.adding(offset))
    guard left > 0 else { return }
    expiry = now.uptime.adding(left)
    fetchAt = now.uptime.adding(left - min(limits.refreshMargin, left / 2))
  }

  /// The provider has not answered in time. It is not asked again before it has.
  mutating func becameLate() {
    since = nil
    isLate = true
  }

  /// The provider failed; it is asked again at an uptime, while connected.
  mutating func fetchFailed(retry: Milliseconds) {
    since = nil
    isLate = false
    failures += 1
    fetchAt = retry
  }

  /// The app has another token: the one at hand is not shown on later connections.
  mutating func forget() {
    (token, expiry, fetchAt) = (nil, nil, nil)
  }

  // MARK: The server

  /// The server took the token. That alone does not reset the count of refusals, because a server may take each token
  /// only to revoke it.
  mutating func accepted(at now: Milliseconds) { acceptedAt = now }

  /// The server did not take the token, or no longer does.
  ///
  /// - Parameter delay: until the provider is asked after a second refusal.
  mutating func refused(at now: Milliseconds, delay: Milliseconds) {
    if let acceptedAt, now.subtracting(acceptedAt) >= limits.stableTime { refusals = 0 }
    acceptedAt = nil
    refusals += 1
    forget()
    mustForce = true
    switch refusals {
    case 1: fetchAt = now
    case 2: fetchAt = now.adding(delay)
    default: fetchAt = now.adding(limits.delays.longest)
    }
  }

  /// The token has expired, as far as the client knows.
  mutating func expired(at now: Milliseconds) {
    forget()
    mustForce = true
    fetchAt = now
  }
}
