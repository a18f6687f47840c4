import Synchronization

/// A memory limit that many holders share. Large amounts that are released are returned to the
/// system.
package final class MemoryBudget: Sendable {
  private struct State {
    var bytes = 0
    /// The peak since memory was last returned to the system.
    var peak = 0
  }

  /// The bytes that a holder may have even when the limit is reached.
  private static let little = 16 << 10

  private let limit: Int
  private let state = Mutex(State())

  /// - Parameter limit: the maximum bytes of all holders together.
  package init(_ limit: Int) { self.limit = limit }

  /// The bytes that are held now.
  package var bytes: Int { state.withLock { $0.bytes } }

  /// Records what a holder has, whether there is room for it or not.
  ///
  /// If each keeps to what it may hold, the total is at most the limit plus a quarter, which is for
  /// holders of small amounts. A holder that may exceed the limit counts as the limit at most, so
  /// that it leaves the quarter to others.
  ///
  /// - Parameters:
  ///   - old: what it held before.
  ///   - new: what it holds now.
  ///   - mayExceed: whether one holder may exceed the limit while the others hold small amounts.
  /// - Returns: false when there is no room for it.
  @discardableResult
  package func account(_ old: Int, _ new: Int, mayExceed: Bool = false) -> Bool {
    change(old, new, mayExceed, otherwise: new)
  }

  /// Records what a holder wants, if there is room for it.
  ///
  /// - Returns: whether there is.
  package func reserve(_ old: Int, _ new: Int, mayExceed: Bool = false) -> Bool {
    change(old, new, mayExceed, otherwise: old)
  }

  /// Records what a holder wants; if there is no room, the holder releases everything. So when many
  /// want too much together, those that release make room and one of them succeeds.
  ///
  /// - Returns: whether there is.
  package func claim(_ old: Int, _ new: Int, mayExceed: Bool = false) -> Bool {
    change(old, new, mayExceed, otherwise: 0)
  }

  /// - Parameter other: the bytes that it keeps if there is no room.
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
        state.peak - state.bytes >= SystemMemory.releaseThreshold && state.bytes <= state.peak / 2
      if isReleased { state.peak = state.bytes }
      return (fits, isReleased)
    }
    if isReleased { SystemMemory.returnReleased() }
    return fits
  }

  /// - Parameter others: the bytes of all other holders.
  private func isRoom(_ old: Int, _ new: Int, _ mayExceed: Bool, _ others: Int) -> Bool {
    if new <= old || others + new <= limit { return true }
    let rest = limit / 4
    if mayExceed, others <= rest { return true }
    return new <= min(Self.little, rest) && others + new <= limit + rest
  }
}
