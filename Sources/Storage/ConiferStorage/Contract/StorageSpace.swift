import ConiferKeyValue

/// The physical bytes that a store takes on its medium, by what they hold.
///
/// Bytes are physical: a kind of record takes its share, by bytes, of the pages or segments that hold
/// live data. So overhead of the store counts, and nothing has to be scanned.
public struct StorageSpace: Hashable, Sendable {
  /// What counts against the budget: cached data with its dictionaries and indexes, tracked queries
  /// and pins.
  public var cache: Int
  /// The part of the cache that pins cover.
  public var pinned: Int
  /// The outbound queue.
  public var queue: Int
  /// Everything else: trees' names, metadata, damaged records set aside.
  public var other: Int
  /// Bytes inside the files that later commits may use again.
  public var free: Int
  /// Bytes of all files together.
  public var file: Int
  /// The bytes that the cache may take, or nil for no limit.
  public var budget: Int?

  /// The bytes that a store takes.
  public init(
    cache: Int = 0, pinned: Int = 0, queue: Int = 0, other: Int = 0, free: Int = 0, file: Int = 0,
    budget: Int? = nil
  ) {
    self.cache = cache
    self.pinned = pinned
    self.queue = queue
    self.other = other
    self.free = free
    self.file = file
    self.budget = budget
  }

  /// Whether the cache takes more than it may; pinned and active data may lead to that.
  public var isOverBudget: Bool { budget.map { cache > $0 } ?? false }
}
