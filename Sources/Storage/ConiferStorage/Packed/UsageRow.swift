import ConiferKeyValue

/// What one tree's records take, by space: one small row, written in the commits that change it.
struct UsageRow: Equatable, Sendable {
  /// Bytes of keys, with the space byte, and sealed values.
  var bytes: [UInt8: Int] = [:]
  /// Stored leaves and priorities of interior nodes.
  var leaves = 0
  /// Bytes of run and delta bodies and of large leaves before compression.
  var raw = 0
  /// The number of the tree's next run; numbers never repeat.
  var nextRun: UInt64 = 1
  /// How many queries are tracked.
  var queries = 0

  var payload: Bytes {
    var writer = ByteWriter()
    writer.varint(leaves)
    writer.varint(raw)
    writer.varint(nextRun)
    writer.varint(queries)
    for (space, count) in bytes.sorted(by: { $0.key < $1.key }) where count != 0 {
      writer.byte(space)
      writer.varint(count)
    }
    return writer.bytes
  }

  init() {}

  init?(_ payload: Bytes) {
    var reader = ByteReader(payload)
    guard let leaves = reader.varint(), let raw = reader.varint(),
      let nextRun = reader.varint(), let queries = reader.varint()
    else { return nil }
    self.nextRun = nextRun
    self.queries = Int(clamping: queries)
    self.leaves = Int(clamping: leaves)
    self.raw = Int(clamping: raw)
    while let space = reader.byte() {
      guard let count = reader.varint() else { return nil }
      bytes[space] = Int(clamping: count)
    }
  }

  /// The stored row of a tree.
  ///
  /// - Throws: `damaged` when it cannot be read; a recount mends it.
  static func read(_ view: any OrderedView, _ tree: TreeID) throws(StoreError) -> UsageRow {
    let key = StoreKey.prefix(tree)
    guard let value = try view.value(Spaces.usage, key) else { return UsageRow() }
    guard let payload = Record.open(Spaces.usage, key, value), let row = UsageRow(payload) else {
      throw Damage.error(Spaces.usage, key)
    }
    return row
  }

  /// The row in the terms of the contract.
  var usage: StorageUsage {
    var usage = StorageUsage()
    usage.leaves = leaves
    usage.rawCache = raw
    for (space, count) in bytes {
      switch space {
      case Spaces.runs.id, Spaces.deltas.id, Spaces.parts.id: usage.cache += count
      case Spaces.queue.id, Spaces.queueParts.id, Spaces.queueIndex.id, Spaces.finished.id:
        usage.queue += count
      case Spaces.queries.id, Spaces.queryIndex.id, Spaces.queryKeys.id:
        usage.trackedQueries += count
      case Spaces.pins.id: usage.pins += count
      case Spaces.indexes.id: usage.indexes += count
      default: usage.other += count
      }
    }
    return usage
  }
}
