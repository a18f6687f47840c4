import ConiferEngine

// How much waits and is cached, as it changes. The Apple SDK has nothing like it.
extension Database {
  /// Tells once when the queue or the cache passes a limit, and once when it is under it again, each time that happens.
  ///
  /// Over a limit is what is larger than it; under it again is what is down to nine tenths of it or less, so that a queue
  /// which is filled as fast as it is sent is told once. What is over it already, such as at opening, is told at once. It is
  /// looked at when the database has done what it was asked for, and after evictions: what comes and goes in between is not
  /// told. While nobody observes, nothing is measured.
  ///
  /// ```swift
  /// let observation = database.observeUsage(UsageLimits(pendingWrites: 1_000)) { change in
  ///   print(change.isOver ? "Much waits to be sent." : "Most was sent.")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - limits: the limits; of a storage that does not evict, and so tells no size, the cache is never over one.
  ///   - told: told of each passing, on the callback queue.
  /// - Returns: what ends it; it goes on when that is forgotten, until the database is closed.
  @discardableResult
  public func observeUsage(
    _ limits: UsageLimits, _ told: @escaping @Sendable (UsageChange) -> Void
  ) -> UsageObservation {
    let engine = engine
    let observation = UsageObservation { [weak engine] in engine?.usageObservationEnded() }
    engine.observeUsage(observation, limits, told)
    return observation
  }
}
