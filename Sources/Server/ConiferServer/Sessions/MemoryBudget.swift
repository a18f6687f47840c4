import Synchronization

/// The memory that many together may hold, each a part of it; what is given back in large amounts goes
/// back to the system.
package final class MemoryBudget: Sendable {
  private struct State {
    var bytes = 0
    /// The most that was held since memory was last given back.
    var peak = 0
  }

  /// What one may hold although all together hold what they may.
  private static let little = 16 << 10

  private let limit: Int
  private let state = Mutex(State())

  /// - Parameter limit: the most bytes that all together hold.
  package init(_ limit: Int) { self.limit = limit }

  /// What is held now.
  package var bytes: Int { state.withLock { $0.bytes } }

  /// Takes note of what one holds, whether there is room for it or not.
  ///
  /// All together hold at most the limit and a quarter of it, if each holds no more than it may: the
  /// quarter is for those that hold little. One that may exceed counts as the limit at most, so that it
  /// leaves the quarter to others.
  ///
  /// - Parameters:
  ///   - old: what it held before.
  ///   - new: what it holds now.
  ///   - mayExceed: whether one may hold more than all may together, while the others hold little.
  /// - Returns: false when there is no room for it.
  @discardableResult
  package func account(_ old: Int, _ new: Int, mayExceed: Bool = false) -> Bool {
    change(old, new, mayExceed, otherwise: new)
  }

  /// Takes note of what one wants to hold, if there is room for it.
  ///
  /// - Returns: whether there is.
  package func reserve(_ old: Int, _ new: Int, mayExceed: Bool = false) -> Bool {
    change(old, new, mayExceed, otherwise: old)
  }

  /// Takes note of what one wants to hold, which gives up what it held if there is no room for it. So of
  /// many that want too much together, one goes on: others find the room of each that gives up.
  ///
  /// - Returns: whether there is.
  package func claim(_ old: Int, _ new: Int, mayExceed: Bool = false) -> Bool {
    change(old, new, mayExceed, otherwise: 0)
  }

  /// - Parameter other: what it holds if there is no room.
  private func change(_ old: Int, _ new: Int, _ mayExceed: Bool, otherwise other: Int) -> Bool {
    let isTooLarge = new > limit && !mayExceed
    let (old, new, other) = (min(old, limit), min(new, limit), min(other, limit))
    let (fits, isReleased) = state.withLock { state -> (Bool, Bool) in
      let others = state.bytes - old
      let fits = !isTooLarge && isRoom(old, new, mayExceed, others)
      let held = fits ? new : other
      state.bytes = others + held
      state.peak = max(state.peak, state.bytes)
      let isReleased =
        state.peak - state.bytes >= SystemMemory.worth && state.bytes <= state.peak / 2
      if isReleased { state.peak = state.bytes }
      return (fits, isReleased)
    }
    if isReleased { SystemMemory.giveBack() }
    return fits
  }

  /// - Parameter others: what all others hold.
  private func isRoom(_ old: Int, _ new: Int, _ mayExceed: Bool, _ others: Int) -> Bool {
    if new <= old || others + new <= limit { return true }
    let rest = limit / 4
    if mayExceed, others <= rest { return true }
    return new <= min(Self.little, rest) && others + new <= limit + rest
  }
}
