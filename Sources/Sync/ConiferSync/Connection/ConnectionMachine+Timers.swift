import ConiferWire

extension ConnectionMachine {
  /// Does what is due.
  mutating func tick() {
    let time = now.uptime
    if let since = auth.fetchingSince, since.adding(limits.tokenTime) <= time {
      tokenFailed("It did not answer in time.", silently: true)
      readOn()
    }
    if let retry = auth.userRetry, retry <= time { fetchToken() }
    switch phase {
    case .idle, .fetching: break
    case .waiting(let until): if until <= time { attempt() }
    case .connecting(_, let since):
      if since.adding(limits.connectTime) <= time {
        actions.append(.noted("The server did not say hello in time."))
        end()
        retry()
      }
    case .connected: tickSession()
    }
  }

  private mutating func tickSession() {
    let time = now.uptime
    if let deadline = silenceDeadline, deadline <= time {
      actions.append(.noted("The server does not answer."))
      end()
      return retry()
    }
    if let due = probeTime, due <= time, let number = session?.number {
      session?.probe = .asked(time)
      actions.append(.probe(number))
    }
    if let session, session.lastSent.adding(limits.keepAlive) <= time {
      self.session?.lastSent = time
      actions.append(.send(.keepAlive))
    }
    if let expiry = auth.expiry, expiry <= time { expireToken() }
    if let due = auth.fetchAt, due <= time { fetchToken() }
    if let retry = marking.retry, retry <= time { markAgain() }
  }

  /// When the server is asked for a sign of life: it owes an answer, and nothing came for some time.
  private var probeTime: Milliseconds? {
    guard let session, case .none = session.probe, let oldest = session.unanswered.oldest else {
      return nil
    }
    return max(oldest, session.lastReceived).adding(limits.quiet)
  }

  /// When a connection whose server does not answer is given up.
  ///
  /// What was sent last may still be on its way through a slow line, with the question behind it. A
  /// server that lives may take its time, but not for ever: a single answer that never comes ends the
  /// connection as well.
  private var silenceDeadline: Milliseconds? {
    guard let session, let oldest = session.unanswered.oldest else { return nil }
    let sending = Milliseconds(session.unanswered.windowBytes / 4)
    var patience = limits.silence.adding(sending)
    if session.unanswered.readingCount > 0 { patience = patience.adding(limits.reading) }
    let last = oldest.adding(patience > .max / 10 ? .max : patience * 10)
    switch session.probe {
    case .none: return last
    case .asked(let time): return min(last, time.adding(limits.probe).adding(sending))
    case .impossible:
      return min(last, max(oldest, session.lastReceived).adding(patience))
    }
  }

  /// The next moment at which something is due.
  private var deadline: Milliseconds? {
    var all: [Milliseconds?] = [
      getDeadline, auth.userRetry, auth.fetchingSince?.adding(limits.tokenTime),
    ]
    switch phase {
    case .idle, .fetching: break
    case .waiting(let until): all.append(until)
    case .connecting(_, let since): all.append(since.adding(limits.connectTime))
    case .connected:
      all += [session?.lastSent.adding(limits.keepAlive), probeTime, silenceDeadline]
      all += [auth.expiry, auth.fetchAt, marking.retry]
    }
    return all.compactMap(\.self).min()
  }

  /// Asks to be woken when something is due, unless an earlier wake was asked for.
  mutating func schedule() {
    if let scheduled, scheduled <= now.uptime { self.scheduled = nil }
    guard let deadline, scheduled.map({ deadline < $0 }) ?? true else { return }
    scheduled = deadline
    actions.append(.wake(at: deadline))
  }
}
