import Synchronization

/// One holder's part of a budget; it is returned to the budget when the share is released.
package final class MemoryShare: Sendable {
  private let budget: MemoryBudget
  private let held = Mutex(0)

  package init(of budget: MemoryBudget) { self.budget = budget }

  deinit { budget.account(held.withLock { $0 }, 0) }

  /// Records what is held now, whether there is room for it or not.
  ///
  /// - Parameter mayExceed: whether it may exceed the limit while the others hold small amounts.
  /// - Returns: false when there is no room for it.
  @discardableResult
  package func hold(_ bytes: Int, mayExceed: Bool = false) -> Bool {
    held.withLock { held in
      defer { held = bytes }
      return budget.account(held, bytes, mayExceed: mayExceed)
    }
  }

  /// Records what is to be held now, if there is room for it; otherwise holds nothing.
  ///
  /// - Parameter mayExceed: whether it may exceed the limit while the others hold small amounts.
  /// - Returns: whether there is.
  package func claim(_ bytes: Int, mayExceed: Bool = false) -> Bool {
    held.withLock { held in
      let fits = budget.claim(held, bytes, mayExceed: mayExceed)
      held = fits ? bytes : 0
      return fits
    }
  }
}
