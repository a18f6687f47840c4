import Synchronization

/// A value that changes, for any number of observers; it keeps the newest one alone.
package final class StateSource<Value: Sendable & Equatable>: Sendable {
  private struct State {
    var current: Value
    /// Nil when the sequences have ended.
    var observers: [UInt64: AsyncStream<Value>.Continuation]? = [:]
    var lastObserver: UInt64 = 0
  }

  private let state: Mutex<State>

  package init(_ value: Value) { state = Mutex(State(current: value)) }

  /// The newest value.
  package var current: Value { state.withLock { $0.current } }

  /// Changes the value, and tells observers if it is another one.
  package func set(_ value: Value) {
    let observers = state.withLock { state in
      guard state.current != value else { return [] as [AsyncStream<Value>.Continuation] }
      state.current = value
      return state.observers.map { Array($0.values) } ?? []
    }
    for observer in observers { observer.yield(value) }
  }

  /// The value now, then each newer one until they end; a slow reader gets only the newest.
  package var values: AsyncStream<Value> {
    let (stream, observer) = AsyncStream<Value>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state -> UInt64? in
      observer.yield(state.current)
      guard state.observers != nil else { return nil }
      state.lastObserver += 1
      state.observers?[state.lastObserver] = observer
      return state.lastObserver
    }
    guard let number else {
      observer.finish()
      return stream
    }
    observer.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.observers?.removeValue(forKey: number) }
    }
    return stream
  }

  /// Ends the sequences of all observers; one that begins later has the last value alone.
  package func finish() {
    let observers = state.withLock { state in
      defer { state.observers = nil }
      return state.observers.map { Array($0.values) } ?? []
    }
    for observer in observers { observer.finish() }
  }
}
