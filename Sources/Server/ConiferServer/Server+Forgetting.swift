import Synchronization

// What is needed to serve databases under names that anybody makes up.
extension Server {
  /// Whether a database is there.
  package func serves(_ namespace: String) -> Bool { hostIfServed(namespace) != nil }

  /// Says that what makes a database ready has been done, and is done again before it is used again
  /// when it was forgotten: rules and indexes that were set by it need not be kept.
  package func markPrepared(_ namespace: String) { hostIfServed(namespace)?.handle(.prepared) }

  /// Forgets a database without sessions, data, rules and indexes of its own, and writes that wait. What
  /// is asked of it at the same moment is asked of a new one.
  ///
  /// - Returns: whether it is not there any more.
  package func forget(_ namespace: String) -> Bool {
    state.withLock { state in
      guard let host = state.hosts[namespace] else { return true }
      guard host.retire() else { return false }
      state.hosts[namespace] = nil
      return true
    }
  }
}
