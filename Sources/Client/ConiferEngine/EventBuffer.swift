import Synchronization

/// A buffer between the engine, which adds events, and the one task that reads them.
package final class EventBuffer<Element: Sendable, Failure: Error>: Sendable {
  /// The policy for events that come faster than they are read.
  package enum Policy: Sendable {
    /// Only the newest is kept, because each event holds all that the older ones said.
    case newest
    /// At most so many are kept, because none may be left out; one more ends the sequence with an
    /// error.
    case bounded(Int)
  }

  private struct State {
    var elements: [Element] = []
    var end: Result<Void, Failure>?
    var reader: CheckedContinuation<Void, Never>?
  }

  private let policy: Policy
  private let overflow: @Sendable (Int) -> Failure
  private let state = Mutex(State())

  /// A buffer; the error is made of the limit when more events come.
  package init(_ policy: Policy, overflow: @escaping @Sendable (Int) -> Failure) {
    self.policy = policy
    self.overflow = overflow
  }

  /// Adds an element, unless the sequence has ended.
  package func add(_ element: Element) {
    let reader = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard state.end == nil else { return nil }
      switch policy {
      case .newest: state.elements = [element]
      case .bounded(let limit) where state.elements.count >= limit:
        state.end = .failure(overflow(limit))
      case .bounded: state.elements.append(element)
      }
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume()
  }

  /// Ends the sequence after the elements that there are.
  package func end(_ result: Result<Void, Failure>) {
    let reader = state.withLock { state -> CheckedContinuation<Void, Never>? in
      if state.end == nil { state.end = result }
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume()
  }

  /// All elements that wait, at least one; nil at the end.
  ///
  /// - Throws: why the sequence ended, once.
  package func take(
    isolation: isolated (any Actor)?
  ) async throws(Failure) -> [Element]? {
    while true {
      let (elements, end) = state.withLock { state in
        defer { state.elements = [] }
        return (state.elements, state.elements.isEmpty ? state.end : nil)
      }
      if !elements.isEmpty { return elements }
      if let end {
        state.withLock { $0.end = .success(()) }
        try end.get()
        return nil
      }
      await wait(isolation: isolation)
    }
  }

  private func wait(isolation: isolated (any Actor)?) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation(isolation: isolation) {
        (reader: CheckedContinuation<Void, Never>) in
        let isReady = state.withLock { state in
          guard state.elements.isEmpty, state.end == nil, state.reader == nil else { return true }
          state.reader = reader
          return false
        }
        if isReady { reader.resume() }
      }
    } onCancel: {
      self.end(.success(()))
    }
  }
}
