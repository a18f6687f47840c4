/// Milliseconds: a reading of a clock that never goes back, or a length of time.
package typealias Milliseconds = Int64

/// Whether the server can be reached, as far as listeners care.
package enum OnlineState: Sendable, Hashable {
  /// It is being tried; listeners wait as if it could be.
  case unknown
  /// The server has said something since the stream was opened.
  case online
  /// The server cannot be reached, or the app wants no network: listeners show the cache.
  case offline
}

/// Finds out whether the server can be reached, by what becomes of the stream of listens.
///
/// From the start one failure, or ten seconds without a message, mean offline. Once online, it takes
/// two failures in a row, or ten seconds after the first.
package struct OnlineTracker: Sendable {
  /// How long a stream may take to say something.
  package static let messageTimeout: Milliseconds = 10_000

  /// A change of the state, to be told to all views and listeners.
  package struct Change: Sendable, Hashable {
    /// The state from now on.
    package let state: OnlineState
    /// Whether to log that the server cannot be reached. This happens once at most, and never
    /// after the server was reached.
    package let isWarning: Bool
  }

  private enum State: Sendable {
    case unknown(deadline: Milliseconds?)
    case online
    /// A stream that failed is tried again without a new wait.
    case offline(hasFailed: Bool)
  }

  private var current = State.unknown(deadline: nil)
  private var mayWarn = true

  /// A tracker of no stream yet.
  package init() {}

  /// Whether the server can be reached.
  package var state: OnlineState {
    switch current {
    case .unknown: .unknown
    case .online: .online
    case .offline: .offline
    }
  }

  /// When `tick` is to be called.
  package var deadline: Milliseconds? {
    guard case .unknown(let deadline) = current else { return nil }
    return deadline
  }

  /// A stream of listens is being opened.
  package mutating func streamStarted(at now: Milliseconds) -> Change? {
    if case .offline(hasFailed: true) = current { return nil }
    return enter(.unknown(deadline: now + Self.messageTimeout))
  }

  /// The stream could not be opened, or broke, and will be opened again.
  package mutating func streamFailed() -> Change? {
    if case .online = current { return enter(.unknown(deadline: nil)) }
    return enter(.offline(hasFailed: true), isSurprise: true)
  }

  /// The time of `deadline` has come; harmless before.
  package mutating func tick(at now: Milliseconds) -> Change? {
    guard let deadline, deadline <= now else { return nil }
    return enter(.offline(hasFailed: false), isSurprise: true)
  }

  /// Sets a known state: online with any message from the server, offline when the app turns the
  /// network off, unknown when nothing is listened to or the stream was closed on purpose.
  package mutating func set(_ state: OnlineState) -> Change? {
    switch state {
    case .unknown: return enter(.unknown(deadline: nil))
    case .offline: return enter(.offline(hasFailed: false))
    case .online:
      mayWarn = false
      return enter(.online)
    }
  }

  private mutating func enter(_ new: State, isSurprise: Bool = false) -> Change? {
    let old = state
    current = new
    guard state != old else { return nil }
    let isWarning = isSurprise && mayWarn
    if isWarning { mayWarn = false }
    return Change(state: state, isWarning: isWarning)
  }
}
