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
  /// Whether it is known who is signed in.
  private(set) var identification: Identification
  /// The number of what the provider was asked or told last.
  private(set) var newestFetch: UInt64 = 0
  /// Answers to what was asked before this number are out of date.
  private var oldestFetch: UInt64 = 1
  /// Whether what was asked last was for another token than the one there is.
  private var isForced = false
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

  /// - Parameter isChanging: whether somebody else may be signed in than whose the token is.
  init(_ limits: ConnectionLimits, usesTokens: Bool, token: AuthToken?, isChanging: Bool) {
    self.limits = limits
    self.usesTokens = usesTokens
    self.token = usesTokens ? token : nil
    identification =
      !usesTokens ? .known : isChanging ? .changing : token == nil ? .starting : .known
  }

  /// Whether attempts are to keep the longest distance.
  var isSlowed: Bool { refusals >= 3 }

  /// Why the provider has not said who is signed in since that may have changed; nil when it has.
  var unanswered: String? {
    if case .unanswered(let reason, _) = identification { reason } else { nil }
  }

  /// The uptime at which the provider is asked again who is signed in.
  var userRetry: Milliseconds? {
    guard case .unanswered(_, let retry) = identification, fetchingSince == nil else { return nil }
    return retry
  }

  /// Begins to ask the provider, unless it is being asked; whether that is new.
  ///
  /// An answer under way may be the token that the server refused meanwhile: then it is asked anew.
  mutating func beginFetch(at now: Milliseconds, isForced: Bool) -> Bool {
    fetchAt = nil
    let isRefused = mustForce && !self.isForced
    guard fetchingSince == nil || isRefused else { return false }
    ask(at: now, isForced: isForced, isAnew: isRefused)
    return true
  }

  /// Asks the provider who is signed in now: what it is about to answer may be of the user before.
  mutating func beginChange(at now: Milliseconds) {
    fetchAt = nil
    identification = .changing
    ask(at: now, isForced: mustForce, isAnew: true)
  }

  private mutating func ask(at now: Milliseconds, isForced: Bool, isAnew: Bool) {
    fetchingSince = now
    newestFetch += 1
    self.isForced = isForced
    if isAnew { oldestFetch = newestFetch }
  }

  /// Whether an answer counts; what it says makes all that was asked before out of date, and one that
  /// came unasked all that was asked until now.
  ///
  /// One that came too late counts unless a newer one came first; a failure only of what was asked last.
  mutating func counts(_ answer: TokenAnswer, _ fetch: UInt64?) -> Bool {
    guard let fetch else {
      newestFetch += 1
      oldestFetch = newestFetch
      return true
    }
    if case .failed = answer { return fetch == newestFetch && fetch >= oldestFetch }
    guard fetch >= oldestFetch else { return false }
    oldestFetch = fetch + 1
    return true
  }

  /// Takes the provider's token, or that there is none.
  mutating func take(_ new: AuthToken?, at now: Moment, offset: Int64) {
    fetchingSince = nil
    failures = 0
    mustForce = false
    token = new
    identification = .known
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
    switch identification {
    case .known: break
    case .starting: identification = .known
    case .changing, .unanswered: identification = .unanswered(reason, retry: retry)
    }
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
