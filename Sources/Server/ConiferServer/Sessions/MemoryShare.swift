import Synchronization

/// What one holds of a budget; the budget has it back when nobody holds the share any more.
package final class MemoryShare: Sendable {
  private let budget: MemoryBudget
  private let held = Mutex(0)

  package init(of budget: MemoryBudget) { self.budget = budget }

  deinit { budget.account(held.withLock { $0 }, 0) }

  /// Takes note of what is held now, whether there is room for it or not.
  ///
  /// - Parameter mayExceed: whether it may be more than all may hold, while the others hold little.
  /// - Returns: false when there is no room for it.
  @discardableResult
  package func hold(_ bytes: Int, mayExceed: Bool = false) -> Bool {
    held.withLock { held in
      defer { held = bytes }
      return budget.account(held, bytes, mayExceed: mayExceed)
    }
  }

  /// Takes note of what is to be held now, if there is room for it; holds nothing if there is not.
  ///
  /// - Parameter mayExceed: whether it may be more than all may hold, while the others hold little.
  /// - Returns: whether there is.
  package func claim(_ bytes: Int, mayExceed: Bool = false) -> Bool {
    held.withLock { held in
      let fits = budget.claim(held, bytes, mayExceed: mayExceed)
      held = fits ? bytes : 0
      return fits
    }
  }
}
