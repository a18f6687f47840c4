package import ConiferKeyValue

/// What one tree's records take, by space: one small row, written in the commits that change it.
package struct UsageRow: Equatable, Sendable {
  /// The first bytes of a row. They are not a valid varint, with which a row of the first layout
  /// begins.
  private static let layout: Bytes = [0x80, 0]

  /// Bytes of keys, with the space byte, and sealed values.
  package var bytes: [UInt8: Int] = [:]
  /// Stored leaves and priorities of interior nodes.
  package var leaves = 0
  /// Bytes of bodies before compression.
  package var raw = RawBytes()
  /// The number of the tree's next run; numbers never repeat.
  package var nextRun: UInt64 = 1
  /// How many queries are tracked.
  package var queries = 0
  /// Stored dictionaries.
  package var dictionaries = 0
  /// The number of the tree's next dictionary; numbers never repeat.
  package var nextDictionary: UInt32 = 1
  /// The dictionary that new records are packed with, 0 for none.
  package var newestDictionary: UInt32 = 0
  /// What was packed since a dictionary was last trained, or refused.
  package var recent = RecentRuns()

  package var payload: Bytes {
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

  package init() {}

  package init?(_ payload: Bytes) {
    guard payload.starts(with: Self.layout) else { return nil }
    var reader = ByteReader(payload, from: Self.layout.count)
    // The limit is larger than any store, and sums over half a million trees do not overflow.
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

  /// The trees that have a row, or had one.
  package static func trees(_ view: any OrderedView) throws(StoreError) -> [TreeID] {
    // Of tree 0 there are other records behind the row.
    try view.keys(Spaces.usage, prefix: []).filter { $0.count == 4 }.map { StoreKey.tree($0) }
  }

  /// The stored row of a tree.
  ///
  /// - Throws: `damaged` when it cannot be read, or is missing although the tree has records; a
  ///   recount repairs it.
  package static func read(_ view: any OrderedView, _ tree: TreeID) throws(StoreError) -> UsageRow {
    let key = StoreKey.prefix(tree)
    guard let value = try view.value(Spaces.usage, key) else {
      // If the tree were taken for a new one, its numbers would be assigned twice.
      guard try isEmpty(view, tree) else { throw Damage.error(Spaces.usage, key) }
      return UsageRow()
    }
    guard let payload = Record.open(Spaces.usage, key, value), let row = UsageRow(payload) else {
      throw Damage.error(Spaces.usage, key)
    }
    return row
  }

  /// Whether a tree has no records except its entry in the registry.
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
}

/// Bytes of bodies before compression, by the kind of the record that they are in.
package struct RawBytes: Equatable, Sendable {
  package var runs = 0
  package var deltas = 0
  package var largeLeaves = 0

  package init(runs: Int = 0, deltas: Int = 0, largeLeaves: Int = 0) {
    self.runs = runs
    self.deltas = deltas
    self.largeLeaves = largeLeaves
  }

  package static func + (a: RawBytes, b: RawBytes) -> RawBytes {
    RawBytes(
      runs: a.runs + b.runs, deltas: a.deltas + b.deltas,
      largeLeaves: a.largeLeaves + b.largeLeaves)
  }

  package static prefix func - (a: RawBytes) -> RawBytes {
    RawBytes(runs: -a.runs, deltas: -a.deltas, largeLeaves: -a.largeLeaves)
  }
}
