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
    let isTooLarge = new > limit && !mayExceed
    let (old, new) = (min(old, limit), min(new, limit))
    let (fits, isReleased) = state.withLock { state -> (Bool, Bool) in
      state.bytes += new - old
      state.peak = max(state.peak, state.bytes)
      let isReleased =
        state.peak - state.bytes >= SystemMemory.worth && state.bytes <= state.peak / 2
      if isReleased { state.peak = state.bytes }
      return (!isTooLarge && isRoom(old, new, mayExceed, state), isReleased)
    }
    if isReleased { SystemMemory.giveBack() }
    return fits
  }

  /// Takes note of what one wants to hold, if there is room for it.
  ///
  /// - Returns: whether there is.
  package func reserve(_ old: Int, _ new: Int, mayExceed: Bool = false) -> Bool {
    if account(old, new, mayExceed: mayExceed) { return true }
    account(new, old)
    return false
  }

  private func isRoom(_ old: Int, _ new: Int, _ mayExceed: Bool, _ state: State) -> Bool {
    if new <= old || state.bytes <= limit { return true }
    let rest = limit / 4
    if mayExceed, state.bytes - new <= rest { return true }
    return new <= min(Self.little, rest) && state.bytes <= limit + rest
  }
}
