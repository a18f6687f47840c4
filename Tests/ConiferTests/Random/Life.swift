import ConiferKeyValue
import Synchronization

/// A process of a device, which may be killed between any two commits.
final class Life: Sendable {
  private struct State {
    var isOver = false
    /// How many commits are left, and whether the last one is done though nobody hears of it.
    var left: (commits: Int, doesLast: Bool)?
    var end: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  var isOver: Bool { state.withLock { $0.isOver } }

  /// Ends at once: no commit is done from now on, and the app hears nothing any more.
  func end() {
    let end = state.withLock { state in
      state.isOver = true
      state.left = nil
      return state.end.take()
    }
    end?()
  }

  /// Ends when some more commits are done, or when the next one after them is asked for.
  func end(after commits: Int, doesLast: Bool) {
    state.withLock { $0.left = (commits, doesLast) }
  }

  /// Lives on after all.
  func spare() { state.withLock { $0.left = nil } }

  /// Has something done at the end.
  func atEnd(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.end = body } }

  /// Does a commit, unless the life is over.
  func commit(_ body: () throws(StoreError) -> CommitID) throws(StoreError) -> CommitID {
    let isLast = try state.withLock { (state: inout State) throws(StoreError) -> Bool in
      if state.isOver { throw Self.over }
      guard let left = state.left else { return false }
      state.left?.commits -= 1
      return left.commits <= 0
    }
    guard isLast else { return try body() }
    if state.withLock({ $0.left?.doesLast == true }) { _ = try body() }
    end()
    throw Self.over
  }

  /// Throws when the life is over.
  func check() throws(StoreError) { if isOver { throw Self.over } }

  private static let over = StoreError(.closed, "The process was killed.")
}
