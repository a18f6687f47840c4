/// Whether the server of a connection still lives: what was sent and what came, and when it is probed or given up.
struct Liveness: Sendable {
  private enum Probe {
    case none
    /// The server was probed at an uptime, and nothing came since.
    case sent(Milliseconds)
    /// The transport cannot probe.
    case impossible
  }

  /// When something was last sent.
  private var lastSent: Milliseconds
  /// When something last came.
  private var lastReceived: Milliseconds
  private var probe = Probe.none

  /// A connection whose hello came at an uptime.
  init(at now: Milliseconds) {
    lastSent = now
    lastReceived = now
  }

  mutating func sent(at now: Milliseconds) { lastSent = now }

  mutating func received(at now: Milliseconds) {
    lastReceived = now
    if case .sent = probe { probe = .none }
  }

  mutating func probed(at now: Milliseconds) { probe = .sent(now) }

  /// The transport cannot probe.
  mutating func cannotProbe() { probe = .impossible }

  /// When a keep-alive is due.
  func keepAliveTime(_ limits: ConnectionLimits) -> Milliseconds {
    lastSent.adding(limits.keepAliveInterval)
  }

  /// When the server is probed: it owes an answer, and nothing came for some time.
  func probeTime(_ requests: OpenRequests, _ limits: ConnectionLimits) -> Milliseconds? {
    guard case .none = probe, let oldest = requests.oldest else { return nil }
    return max(oldest, lastReceived).adding(limits.idleBeforeProbe)
  }

  /// When a connection whose server does not answer is given up.
  ///
  /// The last messages and the probe after them may still be on their way through a slow line. A
  /// slow server gets more time while it sends other messages, but one answer that never comes ends
  /// the connection too.
  func answerDeadline(_ requests: OpenRequests, _ limits: ConnectionLimits) -> Milliseconds? {
    guard let oldest = requests.oldest else { return nil }
    let sending = Milliseconds(requests.windowBytes / 4)
    var timeout = limits.responseTimeout.adding(sending)
    if requests.readingCount > 0 { timeout = timeout.adding(limits.readAllowance) }
    let last = oldest.adding(timeout > .max / 10 ? .max : timeout * 10)
    switch probe {
    case .none: return last
    case .sent(let time): return min(last, time.adding(limits.probeTimeout).adding(sending))
    case .impossible: return min(last, max(oldest, lastReceived).adding(timeout))
    }
  }
}
