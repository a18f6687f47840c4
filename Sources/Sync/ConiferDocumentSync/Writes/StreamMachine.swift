package import ConiferWire

/// When a stream is opened and closed: the distance of attempts, and the time that it may be idle.
///
/// The stream of listens and that of writes have one each. Random numbers and the time come from outside.
package struct StreamMachine: Sendable {
  /// What a stream machine asks for.
  package enum Action: Sendable, Hashable {
    /// The stream is to be opened.
    case open
    /// The stream is to be closed: nobody needs it.
    case close
    /// The user's token is to be replaced before the next attempt.
    case invalidateToken
  }

  private enum State: Sendable {
    case closed
    /// The next attempt waits for its time.
    case waiting(until: Milliseconds)
    case opening
    /// It has been idle since a time, if it is.
    case open(idleSince: Milliseconds?)
  }

  /// How long an idle stream stays open.
  package static let idleTime: Milliseconds = 60_000

  private var state = State.closed
  private var backoff = StreamBackoff()

  /// A closed stream.
  package init() {}

  /// Whether the stream may be used.
  package var isOpen: Bool { if case .open = state { true } else { false } }

  /// When `tick` is to be called.
  package var deadline: Milliseconds? {
    switch state {
    case .closed, .opening, .open(idleSince: nil): nil
    case .waiting(let until): until
    case .open(let idleSince?): idleSince + Self.idleTime
    }
  }

  /// The stream is needed.
  ///
  /// - Parameter jitter: a random number from 0 to 1.
  package mutating func start(at now: Milliseconds, jitter: Double) -> [Action] {
    guard case .closed = state else { return [] }
    state = .waiting(until: backoff.nextAttempt(at: now, jitter: jitter))
    return tick(at: now)
  }

  /// The time of `deadline` has come; harmless before.
  package mutating func tick(at now: Milliseconds) -> [Action] {
    guard let deadline, deadline <= now else { return [] }
    if case .waiting = state {
      state = .opening
      return [.open]
    }
    return stop()
  }

  /// The stream is open.
  package mutating func opened() {
    guard case .opening = state else { return }
    state = .open(idleSince: nil)
  }

  /// The server said something that shows that all is well: the next attempt comes at once.
  package mutating func served() { backoff.reset() }

  /// Nothing is to be sent any more.
  package mutating func idle(at now: Milliseconds) {
    guard case .open(idleSince: nil) = state else { return }
    state = .open(idleSince: now)
  }

  /// Something is sent.
  package mutating func used() {
    guard case .open = state else { return }
    state = .open(idleSince: nil)
  }

  /// The stream could not be opened, or broke.
  package mutating func failed(_ error: StatusError) -> [Action] {
    state = .closed
    switch error.code {
    // What cannot be read comes again with the next attempt.
    case .resourceExhausted, .dataLoss: backoff.jumpToLongest()
    // The token is replaced even if it was valid for long: only the server knows when it expires,
    // and a second failure in a row would count as being offline.
    case .unauthenticated: return [.invalidateToken]
    default: break
    }
    return []
  }

  /// The stream is needed no longer, or the app turned the network off: the next start comes at once.
  package mutating func stop() -> [Action] {
    let wasOpened =
      switch state {
      case .opening, .open: true;
      case .closed, .waiting: false
      }
    state = .closed
    backoff.reset()
    return wasOpened ? [.close] : []
  }

  /// What failed was one request's fault: the next attempt comes at once.
  package mutating func inhibitBackoff() { backoff.reset() }

  /// An attempt that waits for its time is made now; without one, the next comes at once.
  package mutating func skipBackoff(at now: Milliseconds) -> [Action] {
    backoff.reset()
    guard case .waiting = state else { return [] }
    state = .waiting(until: now)
    return tick(at: now)
  }
}

/// The distance of attempts: none, then a second, half as much again with each failure, a minute at most;
/// half of it more or less by chance.
package struct StreamBackoff: Sendable {
  static let first = 1_000.0
  static let longest = 60_000.0
  static let factor = 1.5

  private var base = 0.0
  private var lastAttempt: Milliseconds?

  /// The first attempt comes at once.
  package init() {}

  mutating func reset() { base = 0 }

  /// The next attempt comes after the longest time.
  package mutating func jumpToLongest() { base = Self.longest }

  /// When the next attempt is made, which is counted. The time since the last one counts as waited.
  ///
  /// - Parameters:
  ///   - now: the time.
  ///   - jitter: a random number from 0 to 1.
  package mutating func nextAttempt(at now: Milliseconds, jitter: Double) -> Milliseconds {
    let delay = Milliseconds(base + (jitter - 0.5) * base)
    let waited = lastAttempt.map { max(0, now - $0) } ?? 0
    base = min(max(base * Self.factor, Self.first), Self.longest)
    let next = now + max(0, delay - waited)
    lastAttempt = next
    return next
  }
}
