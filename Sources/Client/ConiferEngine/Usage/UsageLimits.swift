/// How large a queue and a cache may become before an app is told.
public struct UsageLimits: Sendable, Hashable {
  /// How many writes may wait for the server, those of the user who is signed in; nil for any number.
  public var pendingWrites: Int?
  /// How many bytes of the storage that user's queue may take, refused writes too; nil for any number.
  public var queueBytes: Int?
  /// How many bytes of the medium the cache may take, that of all databases in the storage; nil for any number.
  public var cacheBytes: Int?

  /// Limits.
  ///
  /// - Parameters:
  ///   - pendingWrites: how many writes may wait for the server; nil for any number. What is below 0 counts as 0, here and in
  ///     the others.
  ///   - queueBytes: how many bytes of the storage the queue may take; nil for any number.
  ///   - cacheBytes: how many bytes of the medium the cache may take; nil for any number.
  public init(pendingWrites: Int? = nil, queueBytes: Int? = nil, cacheBytes: Int? = nil) {
    self.pendingWrites = pendingWrites
    self.queueBytes = queueBytes
    self.cacheBytes = cacheBytes
  }

  /// The limits that are set.
  var all: [(measure: UsageChange.Measure, limit: Int)] {
    [
      (.pendingWrites, pendingWrites), (.queueBytes, queueBytes), (.cacheBytes, cacheBytes),
    ].compactMap { measure, limit in limit.map { (measure, max(0, $0)) } }
  }
}

/// The passing of a limit, or the return below it.
public struct UsageChange: Sendable, Hashable, CustomStringConvertible {
  /// What is limited.
  public enum Measure: String, Sendable, CaseIterable {
    /// The writes that wait for the server.
    case pendingWrites
    /// The bytes of the queue.
    case queueBytes
    /// The bytes of the cache.
    case cacheBytes
  }

  /// What is limited.
  public let measure: Measure
  /// What it may be.
  public let limit: Int
  /// What it is.
  public let value: Int
  /// Whether it is over the limit now; otherwise it was, and is down to nine tenths of it or less.
  public let isOver: Bool

  /// A passing, for tests of an app.
  public init(measure: Measure, limit: Int, value: Int, isOver: Bool) {
    (self.measure, self.limit, self.value, self.isOver) = (measure, limit, value, isOver)
  }

  /// All of it in one line.
  public var description: String {
    "\(measure.rawValue) \(value), \(isOver ? "over" : "under") the limit of \(limit)"
  }
}
