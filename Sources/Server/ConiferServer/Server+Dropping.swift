import Synchronization

// Dropping databases, for servers that create them under any name that a client sends.
extension Server {
  /// Whether a database exists.
  package func serves(_ namespace: String) -> Bool { hostIfServed(namespace) != nil }

  /// Marks a database as prepared. The preparation is repeated when the database is created again,
  /// so rules and indexes that it set do not prevent dropping the database.
  package func markPrepared(_ namespace: String) { hostIfServed(namespace)?.handle(.prepared) }

  /// Drops a database that has no sessions, data, own rules or indexes, or waiting writes.
  /// Concurrent requests go to a new one.
  ///
  /// - Returns: whether it no longer exists.
  package func forget(_ namespace: String) -> Bool {
    state.withLock { state in
      guard let host = state.hosts[namespace] else { return true }
      guard host.retire() else { return false }
      state.hosts[namespace] = nil
      return true
    }
  }
}
