import ConiferWire

/// Which token a connection shows, when the provider is asked for one, and why writes wait.
///
/// A token is replaced before its expiry. A refused one is replaced by force: at once, then after
/// a delay, and from the third refusal in a row every 30 seconds.
struct AuthMachine: Sendable {
  private let limits: ConnectionLimits
  /// Whether there is a provider at all.
  let usesTokens: Bool
  /// The last token that the provider gave; nil when nobody is signed in.
  private(set) var token: UserToken?
  /// The uptime at which the token expires.
  private(set) var expiry: Milliseconds?
  /// The uptime at which the provider is asked next, while connected.
  private(set) var fetchAt: Milliseconds?
  /// Whether it is known who is signed in.
  private(set) var identification: Identification
  /// What the provider was asked.
  private(set) var requests = TokenRequests()
  /// Whether the last token is of no use, so that the next request must force another one.
  private(set) var mustForce = false
  /// How often tokens were refused in a row.
  private var refusals = 0
  /// The uptime at which the server took the token; nil when it has not, or no longer does.
  private var acceptedAt: Milliseconds?
  /// Why writes wait.
  private var lastProblem: TokenProblem?

  /// - Parameter isChanging: whether somebody other than the token's user may be signed in.
  init(_ limits: ConnectionLimits, usesTokens: Bool, token: UserToken?, isChanging: Bool) {
    self.limits = limits
    self.usesTokens = usesTokens
    self.token = usesTokens ? token : nil
    identification =
      !usesTokens ? .known : isChanging ? .changing : token == nil ? .starting : .known
  }

  /// Whether attempts to connect wait for the longest delay.
  var usesLongestDelay: Bool { refusals >= 3 }

  /// Whether the user may have changed, and the provider is being asked.
  var isChanging: Bool { identification == .changing }

  /// Why writes wait, or why the provider has not said who is signed in.
  var problem: TokenProblem? {
    if let lastProblem { return lastProblem }
    if case .unanswered(let reason, _) = identification { return .unavailable(reason) }
    return nil
  }

  /// The uptime at which the provider is asked again who is signed in.
  var identificationRetry: Milliseconds? {
    guard case .unanswered(_, let retry) = identification, requests.since == nil else { return nil }
    return retry
  }

  /// The uptime at which the provider has taken too long to answer.
  var answerDeadline: Milliseconds? { requests.since?.adding(limits.tokenTimeout) }

  // MARK: The provider

  /// Whether the provider is being asked and its answer will be used. If the server refused the
  /// token after the last request began, the provider may answer with that same token.
  var isFetching: Bool { requests.since != nil && !isOutdating }

  /// Whether a request that begins now makes the answers to earlier ones out of date.
  private var isOutdating: Bool { mustForce && !requests.isForced }

  /// The provider is asked.
  mutating func beginFetch(at now: Milliseconds, isForced: Bool) {
    requests.begin(at: now, isForced: isForced, isReplacing: isOutdating)
  }

  /// The provider is not asked at a set time any longer.
  mutating func cancelPlannedFetch() { fetchAt = nil }

  /// Asks the provider who is signed in now: the answer to an earlier request may be of the user before.
  mutating func beginChange(at now: Milliseconds) {
    fetchAt = nil
    identification = .changing
    requests.begin(at: now, isForced: mustForce, isReplacing: true)
  }

  /// Whether an answer of the provider counts; see `TokenRequests`.
  func isCurrent(_ answer: TokenAnswer, to request: UInt64) -> Bool {
    usesTokens && requests.isCurrent(answer, to: request)
  }

  /// Takes note of an answer that counts, before what it says is taken in.
  mutating func noteAnswer(_ answer: TokenAnswer, to request: UInt64) {
    requests.noteAnswer(answer, to: request)
  }

  /// Takes in the provider's token; nil when nobody is signed in.
  mutating func take(_ new: UserToken?, at now: ClockReading, offset: Int64) {
    requests.succeed()
    mustForce = false
    token = new
    identification = .known
    if case .unavailable = lastProblem { lastProblem = nil }
    if new == nil {
      lastProblem = nil
      refusals = 0
    }
    scheduleReplacement(at: now, offset: offset)
  }

  /// Computes when the token is to be replaced and when it expires.
  /// An expiry in the past is ignored, and the server decides by its own clock.
  mutating func scheduleReplacement(at now: ClockReading, offset: Int64) {
    expiry = nil
    fetchAt = nil
    guard let end = token?.expiry else { return }
    let left = end.subtracting(now.wallTime.adding(offset))
    guard left > 0 else { return }
    expiry = now.uptime.adding(left)
    fetchAt = now.uptime.adding(left - min(limits.refreshMargin, left / 2))
  }

  /// Whether the token at hand may serve while the provider fails.
  func canUseLast(at now: ClockReading, offset: Int64) -> Bool {
    guard let token, !mustForce else { return false }
    return token.expiry.map { $0 > now.wallTime.adding(offset) } ?? true
  }

  /// The provider failed, or did not answer.
  ///
  /// - Parameters:
  ///   - reason: in the provider's words.
  ///   - retry: the uptime of the next try, while connected.
  ///   - isBlocking: whether there can be no connection without a token.
  mutating func fetchFailed(_ reason: String, retry: Milliseconds, isBlocking: Bool) {
    requests.fail()
    fetchAt = retry
    switch identification {
    case .known: break
    case .starting: identification = .known
    case .changing, .unanswered: identification = .unanswered(reason, retry: retry)
    }
    switch lastProblem {
    case .expired, .refused: break
    case .unavailable, nil: if isBlocking { lastProblem = .unavailable(reason) }
    }
  }

  // MARK: The server

  /// The server accepted the token. That alone does not reset the count of refusals, because a
  /// server may accept each token only to revoke it.
  mutating func tokenAccepted(at now: Milliseconds) {
    acceptedAt = now
    lastProblem = nil
  }

  /// The server answered a request as that of the token's user.
  mutating func requestServed() { refusals = 0 }

  /// The server no longer knows the token, because the connection ended or the token was refused.
  /// The count of refusals is reset if the token was accepted for long enough.
  mutating func tokenForgotten(at now: Milliseconds) {
    if let acceptedAt, now.subtracting(acceptedAt) >= limits.stableTime { refusals = 0 }
    acceptedAt = nil
  }

  /// The server did not take the token, or no longer does.
  ///
  /// - Parameter delay: until the provider is asked after a second refusal.
  mutating func tokenRefused(
    _ status: Response.Status, _ reason: String, at now: Milliseconds, delay: Milliseconds
  ) {
    tokenForgotten(at: now)
    refusals += 1
    mustForce = true
    expiry = nil
    lastProblem = status == .expiredToken ? .expired(reason) : .refused(reason)
    switch refusals {
    case 1: fetchAt = now
    case 2: fetchAt = now.adding(delay)
    default: fetchAt = now.adding(limits.delays.longest)
    }
  }

  /// The token has expired, as far as the client knows.
  mutating func tokenExpired(at now: Milliseconds) {
    expiry = nil
    mustForce = true
    lastProblem = .expired("The token has expired.")
    if fetchAt == nil || refusals == 0 { fetchAt = now }
  }
}
