import ConiferKeyValue
import ConiferTree
import Synchronization
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// One rule of the records, broken under right checksums.
struct Breach: Sendable, CustomTestStringConvertible {
  let name: String
  let kind: VerificationReport.Finding.Kind
  /// Words that the finding has.
  let words: String
  /// Whether the counts are made to agree afterwards.
  var recounts = true
  let change: @Sendable (LeafTransaction) throws -> Void

  var testDescription: String { name }

  static let tree = TreeID(rawValue: 1)
  static let prefix = StoreKey.prefix(tree)
  static let lane = prefix + Bytes("ann".utf8) + [0]

  func commit(_ store: MemoryStore) throws {
    let tx = try LeafStore(store, .standard).transaction()
    try change(tx)
    if recounts {
      tx.setUsage(Self.tree, try Recount.whole(tx, Self.tree))
    }
    try tx.writeUsage()
    _ = try store.apply(tx.batch(), .relaxed)
  }

  /// Writes one run anew with other entries.
  static func rewrite(
    _ tx: LeafTransaction, _ index: Int, separator: Bytes? = nil, number: UInt64? = nil,
    _ change: (inout [Entry]) -> Void
  ) throws {
    let key = try tx.keys(Spaces.runs, prefix: prefix)[index]
    let head = try RunHead(storeKey: key, value: try tx.value(Spaces.runs, key) ?? [])
    let reader = RunReader(view: tx, tree: tree)
    var entries = Array(try reader.entries(head))
    change(&entries)
    var list = EntryList()
    for entry in entries { list.append(entry) }
    let packed = RunHead.Packed(
      list, 0..<list.count, Packing(Codec(level: 5)))
    let newKey = separator.map { prefix + $0 } ?? key
    if newKey != key { try tx.delete(Spaces.runs, key) }
    try tx.put(
      Spaces.runs, newKey,
      value: RunHead(
        storeKey: newKey, fullSeparator: [], number: number ?? head.number, packed
      ).value)
  }

  static func key(_ path: Path) -> Bytes { PathKey.encode(path, .realtimeDatabase) }

  static let all: [Breach] = data + queries + queues + rest

  static let data: [Breach] = [
    Breach(name: "a leaf above others", kind: .order, words: "stands above") { tx in
      try rewrite(tx, 0) { entries in
        let path = PathKey.path(entries[1].key, .realtimeDatabase)?.parent ?? .root
        entries.insert(Entry(key: key(path), value: [LeafCodec.Tag.true]), at: 1)
        entries.sort { bytesPrecede($0.key, $1.key) }
      }
    },
    Breach(name: "a leaf that is none", kind: .content, words: "leaf cannot be read") { tx in
      try rewrite(tx, 0) { $0[2] = Entry(key: $0[2].key, value: [15]) }
    },
    Breach(name: "a key that is no path", kind: .content, words: "no path") { tx in
      try rewrite(tx, 0) { $0.append(Entry(key: ($0.last?.key ?? []) + [0x20], value: [1])) }
    },
    Breach(name: "a priority without children", kind: .orphan, words: "without children") { tx in
      try rewrite(tx, 0) { entries in
        entries.insert(Entry(key: key("aaa") + [PathKey.priorityMark], value: [1]), at: 0)
      }
    },
    Breach(name: "runs that overlap", kind: .order, words: "before the end") { tx in
      try rewrite(tx, 0) { $0.append(Entry(key: key("zzz"), value: [1])) }
    },
    Breach(name: "a separator behind its leaves", kind: .order, words: "before the beginning") {
      tx in
      let first = try tx.keys(Spaces.runs, prefix: prefix)[0]
      try rewrite(tx, 0, separator: Bytes(first.dropFirst(4)) + key("zz")) { _ in }
    },
    Breach(name: "two runs with one number", kind: .number, words: "two runs") { tx in
      let keys = try tx.keys(Spaces.runs, prefix: prefix)
      let head = try RunHead(storeKey: keys[0], value: try tx.value(Spaces.runs, keys[0]) ?? [])
      try rewrite(tx, 1, number: head.number) { _ in }
    },
    Breach(name: "a run above the next number", kind: .number, words: "next one", recounts: false) {
      tx in
      try rewrite(tx, 0, number: 5_000_000) { _ in }
    },
    Breach(name: "a change of no run", kind: .orphan, words: "changes is not there") { tx in
      let (payload, _) = DeltaRecord.payload(
        [], leaves: 0, Packing(Codec(level: 5)))
      try tx.put(Spaces.deltas, DeltaRecord.key(tree, 9999, 0), payload: payload)
    },
    Breach(name: "a change that counts wrong", kind: .count, words: "more leaves") { tx in
      let key = try tx.keys(Spaces.deltas, prefix: prefix)[0]
      let record = try DeltaRecord(
        key: key, value: try tx.value(Spaces.deltas, key) ?? [],
        Unpacking(view: tx, tree: tree))
      let (payload, _) = DeltaRecord.payload(
        record.changes, leaves: 7, Packing(Codec(level: 5)))
      try tx.put(Spaces.deltas, key, payload: payload)
    },
    Breach(name: "a part of no leaf", kind: .orphan, words: "no leaf refers") { tx in
      try tx.put(
        Spaces.chunks, prefix + StoreKey.number(77) + [0, 0, 0, 0], payload: [0, 3, 1, 2, 3])
    },
    Breach(name: "a large leaf without its last part", kind: .missing, words: "") { tx in
      // The counts know what is missing; the leaf itself is told too.
      let key = try tx.keys(Spaces.chunks, prefix: prefix).last ?? []
      try tx.delete(Spaces.chunks, key)
    },
    Breach(
      name: "a dictionary above the next number", kind: .number, words: "dictionary 900",
      recounts: false
    ) { tx in
      try tx.put(
        Spaces.dictionaries, DictionaryRecord.key(tree, 900),
        payload: DictionaryRecord(ratio: 2, content: [1, 2, 3]).payload)
    },
  ]

  static let queries: [Breach] = [
    Breach(name: "a query that the index lacks", kind: .missing, words: "not in the index") { tx in
      try tx.delete(Spaces.queryIndex, try tx.keys(Spaces.queryIndex, prefix: prefix)[0])
    },
    Breach(name: "an index row of no query", kind: .orphan, words: "which is not here") { tx in
      try tx.delete(Spaces.queries, prefix + StoreKey.number(2))
    },
    Breach(name: "a key of no query", kind: .orphan, words: "query is not there") { tx in
      let editor = QueryEditor(tx, TreeInfo(id: tree, name: "main", order: .realtimeDatabase))
      try tx.put(
        Spaces.queryKeys, editor.queries.keyRow(QueryID(rawValue: 999), "k"),
        payload: Bytes("k".utf8))
    },
    Breach(name: "a query above the last number", kind: .number, words: "last number given") { tx in
      try tx.put(Spaces.queries, prefix + [0xFF], payload: StoreKey.number(3))
    },
    Breach(name: "a use above the counter", kind: .number, words: "counter stands") { tx in
      let key = prefix + StoreKey.number(1)
      let query = TrackedQuery(tree: tree, path: "rooms/r0", isComplete: true, lastUse: 1 << 40)
      try tx.put(Spaces.queries, key, payload: Queries.payload(query))
    },
    Breach(name: "a pin under a wrong key", kind: .content, words: "pin at") { tx in
      var writer = ByteWriter()
      NodeCodec.append("rooms/r2" as Path, to: &writer)
      writer.sized("default")
      try tx.put(
        Spaces.pins, Pins.key(Pin(tree: tree, path: "rooms/r3"), .realtimeDatabase),
        payload: writer.bytes)
    },
  ]

  static let queues: [Breach] = [
    Breach(name: "a write that the index lacks", kind: .missing, words: "not in the index") { tx in
      try tx.delete(Spaces.queueIndex, try tx.keys(Spaces.queueIndex, prefix: lane)[0])
    },
    Breach(name: "an index row of no write", kind: .orphan, words: "does not wait") { tx in
      try tx.put(
        Spaces.queueIndex, IndexKey.row(lane, "x", .realtimeDatabase, 888), payload: [])
    },
    Breach(name: "a row where a write changes nothing", kind: .orphan, words: "changes nothing") {
      tx in
      try tx.put(Spaces.queueIndex, IndexKey.row(lane, "x", .realtimeDatabase, 3), payload: [])
    },
    Breach(name: "a part of no write", kind: .orphan, words: "no write refers") { tx in
      try tx.put(
        Spaces.queueParts, lane + StoreKey.number(888) + [0, 0, 0, 0], payload: [0, 1, 1])
    },
    Breach(name: "a write without a part", kind: .content, words: "write 6") { tx in
      try tx.delete(Spaces.queueParts, try tx.keys(Spaces.queueParts, prefix: lane)[0])
    },
    Breach(name: "totals that are wrong", kind: .count, words: "waiting writes") { tx in
      var totals = LaneTotals()
      (totals.pending, totals.rejected, totals.newest, totals.finished) = (9, 1, 6, 1)
      try tx.put(Spaces.queue, lane + [0xFF], payload: totals.payload)
    },
    Breach(name: "no totals", kind: .missing, words: "totals are not there") { tx in
      try tx.delete(Spaces.queue, lane + [0xFF])
    },
    Breach(name: "a high-water mark below a write", kind: .number, words: "write 6 is there") {
      tx in
      let view = try QueueReader(
        tx, Lane(tree: tree, identity: "ann"), .realtimeDatabase, Codec(level: 5))
      var totals = try view.totals()
      totals.newest = 5
      try tx.put(Spaces.queue, lane + [0xFF], payload: totals.payload)
    },
    Breach(name: "a number that is finished and waits", kind: .number, words: "not finished") {
      tx in
      try tx.put(Spaces.finished, lane + StoreKey.number(3), payload: [1, 0])
    },
    Breach(name: "a waiting write that says rejected", kind: .content, words: "of its state") {
      tx in
      let entry = QueueEntry(
        id: WriteID(rawValue: 3), payload: WriteContent.set("rooms/r2/m1", 2).payload,
        state: .rejected(reason: "no"))
      var head = WriteRecord.head(entry)
      let content = WriteRecord.content(entry.payload)
      head.byte(0)
      head.byte(0)
      head.varint(content.count)
      head.append(content)
      try tx.put(Spaces.queue, lane + [1] + StoreKey.number(3), payload: head.bytes)
    },
    Breach(name: "one number twice", kind: .number, words: "two writes") { tx in
      let key = lane + [1] + StoreKey.number(2)
      let value = try tx.value(Spaces.queue, lane + [2] + StoreKey.number(2)) ?? []
      try tx.put(Spaces.queue, key, payload: Bytes(value.dropFirst(Record.overhead)))
    },
    Breach(name: "too many ends", kind: .count, words: "instead of 1000") { tx in
      for number in 0...1001 as ClosedRange<UInt64> {
        try tx.put(Spaces.finished, lane + StoreKey.number(1000 + number), payload: [1, 0])
      }
    },
    Breach(name: "superseded by what never was", kind: .number, words: "superseded") { tx in
      try tx.put(Spaces.finished, lane + StoreKey.number(1), payload: [3, 99, 0])
    },
  ]

  static let rest: [Breach] = [
    Breach(name: "wrong usage", kind: .count, words: "leaves", recounts: false) { tx in
      try tx.countTree(tree, leaves: 1, raw: RawBytes())
      tx.state.isChanged = true
    },
    Breach(name: "records of no tree", kind: .orphan, words: "not registered") { tx in
      try tx.put(Spaces.metadata, StoreKey.prefix(TreeID(rawValue: 9)) + [65], payload: [1])
    },
    Breach(name: "metadata without a name", kind: .content, words: "metadata") { tx in
      try tx.put(Spaces.metadata, prefix + [0xFF, 0xFE], payload: [1])
    },
    Breach(name: "a tree that its name does not find", kind: .missing, words: "by its name") { tx in
      try tx.delete(Spaces.system, [0, 0, 0, 0] + Bytes("mmain".utf8))
    },
    Breach(name: "a name of no tree", kind: .orphan, words: "names tree 7") { tx in
      try tx.put(Spaces.system, [0, 0, 0, 0] + Bytes("mlost".utf8), payload: [0, 0, 0, 7])
    },
    Breach(name: "a tree above the next number", kind: .number, words: "next one's number is 1") {
      tx in
      try tx.put(Spaces.system, [0, 0, 0, 0] + Bytes("n".utf8), payload: [1])
    },
  ]
}
