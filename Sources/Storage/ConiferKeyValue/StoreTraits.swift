/// Facts about a store, such as its longest key, that the engine plans with and the conformance kit
/// checks.
public struct StoreTraits: Sendable, Equatable {
  /// The longest key that `put` accepts, in bytes, without the space byte; `Int.max` for no limit.
  public var longestKey: Int
  /// The largest value, in bytes, that is stored without waste: the engine sizes its runs by it.
  public var bestValueSize: Int
  /// The approximate bytes that a commit of one small row writes. Housekeeping that is paced by
  /// written bytes counts each row as at least this many.
  public var writeQuantum: Int
  /// The strongest durability that a commit may ask for.
  public var strongest: Durability
  /// Whether data survives `close` and reopening.
  public var isPersistent: Bool

  /// The facts about a store.
  public init(
    longestKey: Int, bestValueSize: Int, writeQuantum: Int, strongest: Durability,
    isPersistent: Bool
  ) {
    self.longestKey = longestKey
    self.bestValueSize = bestValueSize
    self.writeQuantum = writeQuantum
    self.strongest = strongest
    self.isPersistent = isPersistent
  }
}

/// The bytes of a store that are live, free and in files, known without a scan.
public struct StoreSize: Sendable, Equatable {
  /// Bytes of pages or segments that hold live data.
  public var live: Int
  /// The part of `live` that is not records, such as wrapped keys, and stays when all records are
  /// removed.
  public var own: Int
  /// Bytes inside the files that later commits may use again.
  public var free: Int
  /// Bytes of all files together.
  public var file: Int

  /// The size of a store.
  public init(live: Int, own: Int = 0, free: Int, file: Int) {
    self.live = live
    self.own = own
    self.free = free
    self.file = file
  }
}
