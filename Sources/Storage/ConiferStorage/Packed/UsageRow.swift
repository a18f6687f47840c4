import ConiferKeyValue

/// What one tree's records take, by space: one small row, written in the commits that change it.
struct UsageRow: Equatable, Sendable {
  /// What a row begins with: no varint is written so, and a row of the first layout begins with
  /// one.
  private static let layout: Bytes = [0x80, 0]

  /// Bytes of keys, with the space byte, and sealed values.
  var bytes: [UInt8: Int] = [:]
  /// Stored leaves and priorities of interior nodes.
  var leaves = 0
  /// Bytes of bodies before compression.
  var raw = RawBytes()
  /// The number of the tree's next run; numbers never repeat.
  var nextRun: UInt64 = 1
  /// How many queries are tracked.
  var queries = 0
  /// Stored dictionaries.
  var dictionaries = 0
  /// The number of the tree's next dictionary; numbers never repeat.
  var nextDictionary: UInt32 = 1
  /// The dictionary that new records are packed with, 0 for none.
  var newestDictionary: UInt32 = 0
  /// What was packed since a dictionary was last trained, or refused.
  var recent = RecentRuns()

  var payload: Bytes {
    var writer = ByteWriter(Self.layout)
    writer.varint(leaves)
    writer.varint(raw.runs)
    writer.varint(raw.deltas)
    writer.varint(raw.largeLeaves)
    writer.varint(nextRun)
    writer.varint(queries)
    writer.varint(dictionaries)
    writer.varint(UInt64(nextDictionary))
    writer.varint(UInt64(newestDictionary))
    writer.varint(recent.raw)
    writer.varint(recent.packed)
    for (space, count) in bytes.sorted(by: { $0.key < $1.key }) where count != 0 {
      writer.byte(space)
      writer.varint(count)
    }
    return writer.bytes
  }

  init() {}

  init?(_ payload: Bytes) {
    guard payload.starts(with: Self.layout) else { return nil }
    var reader = ByteReader(payload, from: Self.layout.count)
    // No store holds as much as the limit, and sums over half a million trees do not overflow.
    func count() -> Int? {
      reader.varint().flatMap { $0 < 1 << 44 ? Int($0) : nil }
    }
    guard let leaves = count(), let runs = count(), let deltas = count(),
      let largeLeaves = count(), let nextRun = count(), let queries = count(),
      let dictionaries = count(),
      let next = reader.varint().flatMap({ UInt32(exactly: $0) }),
      let newest = reader.varint().flatMap({ UInt32(exactly: $0) }), let recentRaw = count(),
      let recentPacked = count()
    else { return nil }
    self.leaves = leaves
    guard (1...Numbers.lastRun + 1).contains(UInt64(nextRun)) else { return nil }
    self.nextRun = UInt64(nextRun)
    self.queries = queries
    self.dictionaries = dictionaries
    raw = RawBytes(runs: runs, deltas: deltas, largeLeaves: largeLeaves)
    guard next >= 1 else { return nil }
    nextDictionary = next
    newestDictionary = newest
    recent = RecentRuns(raw: recentRaw, packed: recentPacked)
    while let space = reader.byte() {
      guard let count = count() else { return nil }
      bytes[space] = count
    }
  }

  /// The stored row of a tree.
  ///
  /// - Throws: `damaged` when it cannot be read, or is not there beside records of the tree; a recount
  ///   mends it.
  static func read(_ view: any OrderedView, _ tree: TreeID) throws(StoreError) -> UsageRow {
    let key = StoreKey.prefix(tree)
    guard let value = try view.value(Spaces.usage, key) else {
      // Taken for a new tree, its numbers would be given again.
      guard try isEmpty(view, tree) else { throw Damage.error(Spaces.usage, key) }
      return UsageRow()
    }
    guard let payload = Record.open(Spaces.usage, key, value), let row = UsageRow(payload) else {
      throw Damage.error(Spaces.usage, key)
    }
    return row
  }

  /// Whether a tree has no records but its place in the registry.
  private static func isEmpty(
    _ view: any OrderedView, _ tree: TreeID
  ) throws(StoreError) -> Bool {
    for space in Spaces.all where space != Spaces.usage {
      guard try view.keys(space, prefix: StoreKey.prefix(tree), limit: 1).isEmpty else {
        return false
      }
    }
    return true
  }

  /// The row in the terms of the contract.
  var usage: StorageUsage {
    var usage = StorageUsage()
    usage.leaves = leaves
    usage.runs.raw = raw.runs
    usage.deltas.raw = raw.deltas
    usage.largeLeaves.raw = raw.largeLeaves
    usage.dictionaryCount = dictionaries
    for (space, count) in bytes {
      switch space {
      case Spaces.runs.id: usage.runs.stored.add(count)
      case Spaces.deltas.id: usage.deltas.stored.add(count)
      case Spaces.parts.id: usage.largeLeaves.stored.add(count)
      case Spaces.dictionaries.id: usage.dictionaries.add(count)
      case Spaces.queue.id, Spaces.queueParts.id, Spaces.queueIndex.id, Spaces.finished.id:
        usage.queue.add(count)
      case Spaces.queries.id, Spaces.queryIndex.id, Spaces.queryKeys.id:
        usage.trackedQueries.add(count)
      case Spaces.pins.id: usage.pins.add(count)
      case Spaces.indexes.id: usage.indexes.add(count)
      default: usage.other.add(count)
      }
    }
    return usage
  }
}

/// Bytes of bodies before compression, by the kind of the record that they are in.
struct RawBytes: Equatable, Sendable {
  var runs = 0
  var deltas = 0
  var largeLeaves = 0

  static func + (a: RawBytes, b: RawBytes) -> RawBytes {
    RawBytes(
      runs: a.runs + b.runs, deltas: a.deltas + b.deltas,
      largeLeaves: a.largeLeaves + b.largeLeaves)
  }

  static prefix func - (a: RawBytes) -> RawBytes {
    RawBytes(runs: -a.runs, deltas: -a.deltas, largeLeaves: -a.largeLeaves)
  }
}
