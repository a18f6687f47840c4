/// Which token of the app a connection shows, and when the provider is asked for one.
///
/// Such a token holds nothing up for good: without one, or while the provider fails, the client connects and goes on. It is
/// replaced before its expiry. A refused one is replaced by force: at once, then after a delay, and from the third refusal
/// in a row every 30 seconds; the connection stays, since servers end it themselves when they demand a token.
struct AppCheckMachine: Sendable {
  /// A question to the provider that has no answer.
  private struct Question {
    /// Whether it is for another token than the one there was.
    let isForced: Bool
    let since: Milliseconds
  }

  private let limits: ConnectionLimits
  /// Whether there is a provider at all.
  let isUsed: Bool
  /// The last token that the provider gave, until it expires or is refused.
  private(set) var token: AppToken?
  /// The uptime at which the token expires.
  private(set) var expiry: Milliseconds?
  /// The uptime at which the token is to be replaced.
  private var renewal: Milliseconds?
  /// The uptime at which the provider is asked again, after a failure or a refusal.
  private var retry: Milliseconds?
  private var question: Question?
  /// The number of the newest question; only its answer counts.
  private(set) var newest: UInt64 = 0
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

  /// The uptime at which the provider is asked next, while connected.
  var fetchAt: Milliseconds? { [renewal, retry].compactMap { $0 }.min() }

  /// The uptime at which the question is given up, as its answer must have been lost.
  var answerDeadline: Milliseconds? { question?.since.adding(limits.appTokenPatience) }

  // MARK: The provider

  /// Whether a connection waits for the provider: not for an answer that takes too long already.
  mutating func isMissing(at now: Milliseconds) -> Bool {
    if let expiry, expiry <= now { expired(at: now) }
    guard isUsed, token == nil else { return false }
    guard isFetching, let question else { return true }
    return now.subtracting(question.since) < limits.appTokenTimeout
  }

  /// Whether the provider is being asked and its answer will be used; it may be the refused token when the question was
  /// asked before the refusal.
  var isFetching: Bool { question.map { $0.isForced || !mustForce } ?? false }

  /// Whether the provider is being asked for another token than the one there was.
  var isForcing: Bool { question?.isForced ?? false }

  /// The provider is not asked at a set time any longer.
  mutating func cancelPlannedFetch() { (renewal, retry) = (nil, nil) }

  /// The provider is asked.
  mutating func beginFetch(at now: Milliseconds, isForced: Bool) {
    question = Question(isForced: isForced, since: now)
    newest += 1
  }

  /// Takes in a token. An expiry in the past is ignored, and the server decides by its own clock.
  mutating func take(_ new: AppToken, at now: ClockReading, offset: Int64) {
    question = nil
    failures = 0
    mustForce = false
    token = new
    retry = nil
    scheduleReplacement(at: now, offset: offset)
  }

  /// Computes when the token is to be replaced and when it expires.
  mutating func scheduleReplacement(at now: ClockReading, offset: Int64) {
    (expiry, renewal) = (nil, nil)
    guard let end = token?.expiry else { return }
    let left = end.subtracting(now.wallTime.adding(offset))
    guard left > 0 else { return }
    expiry = now.uptime.adding(left)
    renewal = now.uptime.adding(left - min(limits.refreshMargin, left / 2))
  }

  /// The provider failed, or its answer was lost; it is asked again at an uptime, while connected.
  mutating func fetchFailed(retry: Milliseconds) {
    question = nil
    failures += 1
    self.retry = retry
  }

  /// The app has another token, so the provider no longer has the one that was refused or has expired.
  mutating func changed() { mustForce = false }

  /// The token at hand is not shown on later connections.
  mutating func forget() {
    (token, expiry) = (nil, nil)
    cancelPlannedFetch()
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
    case 1: retry = now
    case 2: retry = now.adding(delay)
    default: retry = now.adding(limits.delays.longest)
    }
  }

  /// The token has expired, as far as the client knows.
  mutating func expired(at now: Milliseconds) {
    forget()
    mustForce = true
    retry = now
  }
}
