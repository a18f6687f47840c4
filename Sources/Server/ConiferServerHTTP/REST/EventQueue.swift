import ConiferServer
import ConiferTree
import ConiferWire
import Synchronization

/// The updates of a session that wait for the reader of its event stream.
///
/// The server adds updates, under its lock; the reader takes everything that waits, as fast as it
/// writes. A stream ends when more waits than its limit. When too much waits for all streams
/// together, a stream that gets more ends too, unless little waits for it.
final class EventQueue: Sendable {
  /// The result of waiting for updates.
  enum Turn: Sendable {
    case news([Push])
    /// Nothing happened for a while.
    case silence
    case end
  }

  private struct State {
    var news: [Push] = []
    var bytes = 0
    /// Whether nothing follows the waiting updates.
    var isEnded = false
    var session: ServerSession?
    var answer: CheckedContinuation<Response, Never>?
    var reader: CheckedContinuation<Turn, Never>?
  }

  private let limit: Int
  private let all: MemoryBudget
  private let state = Mutex(State())

  /// - Parameters:
  ///   - limit: the estimated bytes that may wait.
  ///   - all: the bytes that may wait for all readers.
  init(limit: Int, all: MemoryBudget) {
    self.limit = limit
    self.all = all
  }

  deinit {
    let bytes = state.withLock { $0.bytes }
    all.account(bytes, 0)
  }

  /// Adds an event of the session.
  func receive(_ event: TransportEvent) {
    state.withLock { state in
      switch event {
      case .message(.response(_, let response)): state.answer.take()?.resume(returning: response)
      case .message(.push(let push)): add(push, &state)
      case .closed: end(&state)
      default: break
      }
    }
  }

  /// Sends a request to a session.
  ///
  /// - Returns: the answer; `unavailable` when the session ends before.
  func answer(of session: ServerSession, to request: Request) async -> Response {
    await withCheckedContinuation { continuation in
      let isEnded = state.withLock { state in
        state.session = session
        if !state.isEnded { state.answer = continuation }
        return state.isEnded
      }
      if isEnded { return continuation.resume(returning: Response(.unavailable)) }
      session.receive(.request(1, request))
    }
  }

  /// Waits for the next updates.
  func next() async -> Turn {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let turn = state.withLock { state -> Turn? in
          if !state.news.isEmpty { return take(&state) }
          if state.isEnded { return .end }
          state.reader = continuation
          return nil
        }
        if let turn { continuation.resume(returning: turn) }
      }
    } onCancel: {
      stop()
    }
  }

  /// Wakes a waiting reader to send `keep-alive`.
  func beat() { state.withLock { $0.reader.take()?.resume(returning: .silence) } }

  /// Ends the session, and drops unread updates.
  func stop() {
    let session = state.withLock { state in
      drop(&state)
      end(&state)
      return state.session.take()
    }
    session?.end()
  }

  private func add(_ push: Push, _ state: inout State) {
    if state.isEnded { return }
    let bytes = push.estimatedSize
    guard reserve(state.bytes + bytes, &state) else {
      drop(&state)
      end(&state)
      // Not here: the server's lock is held.
      if let session = state.session.take() { Task { session.end() } }
      return
    }
    state.news.append(push)
    switch push {
    case .listenRevoked, .authRevoked: end(&state)
    default: if let reader = state.reader.take() { reader.resume(returning: take(&state)) }
    }
  }

  /// Counts the waiting bytes, if there is room for them. A single message may have any size.
  private func reserve(_ bytes: Int, _ state: inout State) -> Bool {
    let isFirst = state.news.isEmpty
    guard isFirst || bytes <= limit, all.reserve(state.bytes, bytes, mayExceed: isFirst) else {
      return false
    }
    state.bytes = bytes
    return true
  }

  private func drop(_ state: inout State) {
    state.news = []
    all.account(state.bytes, 0)
    state.bytes = 0
  }

  private func take(_ state: inout State) -> Turn {
    defer { drop(&state) }
    return .news(state.news)
  }

  private func end(_ state: inout State) {
    state.isEnded = true
    state.answer.take()?.resume(returning: Response(.unavailable))
    guard let reader = state.reader.take() else { return }
    reader.resume(returning: state.news.isEmpty ? .end : take(&state))
  }
}

extension Push {
  /// Its approximate size in bytes.
  fileprivate var estimatedSize: Int {
    switch self {
    case .overwrite(_, let node, _): 64 + node.estimatedSize
    case .merge(_, let changes, _): changes.reduce(64) { $0 + 64 + $1.node.estimatedSize }
    default: 64
    }
  }
}
