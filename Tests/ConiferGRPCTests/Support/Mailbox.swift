import Synchronization

/// What comes in order, for one after the other who waits for it.
final class Mailbox<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var waiting: [CheckedContinuation<Element?, Never>] = []
    var hasEnded = false
  }

  private let state = Mutex(State())

  func put(_ element: Element) {
    let waiting = state.withLock { state -> CheckedContinuation<Element?, Never>? in
      if !state.waiting.isEmpty { return state.waiting.removeFirst() }
      state.elements.append(element)
      return nil
    }
    waiting?.resume(returning: element)
  }

  /// Nothing more comes.
  func end() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      state.hasEnded = true
      return state.waiting
    }
    for continuation in waiting { continuation.resume(returning: nil) }
  }

  /// The next element; nil when none comes any more.
  func next() async -> Element? {
    await withCheckedContinuation { continuation in
      let element = state.withLock { state -> Element?? in
        if !state.elements.isEmpty { return .some(state.elements.removeFirst()) }
        if state.hasEnded { return .some(nil) }
        state.waiting.append(continuation)
        return nil
      }
      if let element { continuation.resume(returning: element) }
    }
  }

  /// Whether more may come.
  var isOpen: Bool { state.withLock { !$0.hasEnded } }

  /// What waits to be taken.
  var count: Int { state.withLock { $0.elements.count } }
}
