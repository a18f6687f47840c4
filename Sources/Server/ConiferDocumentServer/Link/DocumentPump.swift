import ConiferKeyValue
import ConiferStorage
import Synchronization

/// A scheduler for tests, which delivers the messages of some links one at a time, when `step` is
/// called, by a time of its own that jumps from one delivery to the next. A seed decides the order
/// of what is due at one time.
///
/// All deliveries happen on the thread that calls `step`.
public final class DocumentPump: Sendable {
  private struct Entry {
    let due: Duration
    let order: UInt64
    let run: @Sendable () -> Void
  }

  private struct State {
    var now = Duration.zero
    var entries: [Entry] = []
    var random: SplitMix64
  }

  private let state: Mutex<State>

  /// A pump.
  ///
  /// - Parameter seed: decides the order of what is due at one time.
  public init(seed: UInt64) { state = Mutex(State(random: SplitMix64(seed: seed))) }

  /// The time, from zero on: that of the last delivery.
  public var now: Duration { state.withLock { $0.now } }

  /// Delivers what is due next, and moves the time there.
  ///
  /// - Returns: false when there is nothing.
  @discardableResult
  public func step() -> Bool {
    let entry = state.withLock { state -> Entry? in
      let next = state.entries.indices.min { a, b in
        (state.entries[a].due, state.entries[a].order)
          < (state.entries[b].due, state.entries[b].order)
      }
      guard let next else { return nil }
      let entry = state.entries.remove(at: next)
      state.now = max(state.now, entry.due)
      return entry
    }
    entry?.run()
    return entry != nil
  }

  /// Delivers until nothing is left, and lets the server do what it is asked for in between.
  ///
  /// - Parameters:
  ///   - server: the server at the link's other end.
  ///   - limit: the most messages.
  /// - Returns: how many were delivered.
  @discardableResult
  public func run(_ server: DocumentServer, limit: Int = .max) async -> Int {
    var count = 0
    while count < limit {
      await server.waitUntilIdle()
      guard step() else { break }
      count += 1
    }
    return count
  }

  /// Calls a closure when a time has come, such as a client's back-off.
  package func call(at due: Duration, _ run: @escaping @Sendable () -> Void) {
    state.withLock { state in
      let order = state.random.next()
      state.entries.append(Entry(due: due, order: order, run: run))
    }
  }
}
