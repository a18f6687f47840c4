import ConiferKeyValue
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// A cursor moves as over a sorted array, whatever runs, deltas and parts its leaves lie in.
@Suite struct LeafCursorTests {
  private static let tree = TreeID(rawValue: 1)

  /// A store of leaves in several runs, some with deltas, and what it should hold.
  private struct Sample {
    let leaves = LeafStore(ProbeStore(bestValueSize: 1024), .none)
    /// By key: what the leaf says.
    var texts: [Bytes: String] = [:]
    /// What all keys begin with; runs get cut keys where it is as long as a key may be.
    let prefix: Bytes

    var keys: [Bytes] { texts.keys.sorted(by: bytesPrecede) }

    func key(_ number: Int) -> Bytes { prefix + Bytes("k\(1000 + number)".utf8) + [0] }

    init(_ random: inout Seeded, areKeysLong: Bool) throws {
      prefix = areKeysLong ? Bytes(repeating: 0x61, count: 505) : []
      for round in 0..<6 {
        let tx = try leaves.transaction()
        try change(tx.editor(tree), round == 0 ? 120 : 6, atMost: 120, &random)
        // One that is stored in parts.
        if round == 2 { try put(tx.editor(tree), 150, LargeLeaf.threshold + 10, &random) }
        try tx.flush()
        try tx.writeUsage()
        _ = try leaves.apply(tx, tx.batch(), .relaxed)
      }
    }

    mutating func change(
      _ editor: RunEditor, _ count: Int, atMost longest: Int, _ random: inout Seeded
    ) throws {
      for _ in 0..<count {
        let number = Int.random(in: 0..<300, using: &random)
        if number != 150, !texts.isEmpty, random.one(in: 4) {
          try editor.delete(key(number))
          texts[key(number)] = nil
        } else if number != 150 {
          try put(editor, number, .random(in: 0...longest, using: &random), &random)
        }
      }
    }

    private mutating func put(
      _ editor: RunEditor, _ number: Int, _ length: Int, _ random: inout Seeded
    ) throws {
      let text = String(random.next(), radix: 36) + String(repeating: "x", count: length)
      var list = EntryList()
      list.append(key(number), .string(text), nil)
      try editor.replace(key(number), key(number) + [0], with: list)
      texts[key(number)] = text
    }
  }

  private static func text(_ cursor: LeafCursor<some RunSource>, _ runs: some RunSource) throws
    -> String?
  {
    switch cursor.entries.leaf(cursor.index) {
    case .leaf(.string(let text), _): return text
    case .largeLeaf(let reference, _):
      guard case .string(let text) = try runs.reader.leaf(reference, in: []) else { return nil }
      return text
    default: return nil
    }
  }

  /// Moves a cursor by chance, and compares where it is with an array of the range.
  private func compare(
    _ runs: some RunSource, _ sample: Sample, _ random: inout Seeded, _ seed: UInt64
  ) throws {
    let keys = sample.keys
    for _ in 0..<20 {
      let (a, b) = (
        sample.key(.random(in: -5..<305, using: &random)),
        sample.key(.random(in: -5..<305, using: &random))
      )
      let (low, high) = bytesPrecede(a, b) ? (a, b) : (b, a)
      let expected = keys.filter { !bytesPrecede($0, low) && bytesPrecede($0, high) }
      var cursor = LeafCursor(runs, low, high)
      var at: Int?
      for _ in 0..<40 {
        let found: Bool
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
          found = try cursor.first()
          at = expected.startIndex
        case 1:
          found = try cursor.last()
          at = expected.endIndex - 1
        case 2, 3:
          let target = sample.key(.random(in: 0..<300, using: &random))
          let key = bytesPrecede(target, low) ? low : target
          found = try cursor.seek(key)
          at = expected.firstIndex { !bytesPrecede($0, key) }
        case 4, 5:
          guard let here = at else { continue }
          found = try cursor.next()
          at = here + 1
        default:
          guard let here = at else { continue }
          found = try cursor.previous()
          at = here - 1
        }
        if let here = at, !expected.indices.contains(here) { at = nil }
        try #require(found == (at != nil), "seed \(seed)")
        guard let at else { continue }
        try #require(cursor.key == expected[at], "seed \(seed)")
        try #require(try Self.text(cursor, runs) == sample.texts[expected[at]], "seed \(seed)")
      }
    }
  }

  /// The runs of a store, by what their keys begin with.
  private static func places(_ reader: RunReader) throws -> [FoundRun] {
    var places: [FoundRun] = []
    while let place = try reader.foundRun(after: places.last) { places.append(place) }
    return places
  }

  @Test(arguments: 0..<20 as Range<UInt64>, [false, true])
  func `A cursor is where a sorted array has its key`(seed: UInt64, areKeysLong: Bool) throws {
    var random = Seeded(seed)
    let sample = try Sample(&random, areKeysLong: areKeysLong)
    let view = try sample.leaves.openSnapshot()
    defer { view.close() }
    let reader = RunReader(view: view, tree: Self.tree)
    let places = try Self.places(reader)
    #expect(places.count > 3, "seed \(seed)")
    #expect(places.contains { $0.head?.isCut == true } == areKeysLong, "seed \(seed)")
    #expect(try !view.keys(Spaces.chunks, prefix: []).isEmpty)
    // A key of 500 bytes is no small change of a run.
    #expect(try view.keys(Spaces.deltas, prefix: []).isEmpty == areKeysLong)
    try compare(reader, sample, &random, seed)
  }

  @Test(arguments: 0..<20 as Range<UInt64>, [false, true])
  func `A cursor over a commit in the making sees its edits`(
    seed: UInt64, areKeysLong: Bool
  ) throws {
    var random = Seeded(seed)
    var sample = try Sample(&random, areKeysLong: areKeysLong)
    let tx = try sample.leaves.transaction()
    let editor = tx.editor(Self.tree)
    for _ in 0..<10 {
      try sample.change(editor, 3, atMost: 10, &random)
      try compare(editor, sample, &random, seed)
    }
  }

  @Test(arguments: [false, true])
  func `A cursor over leaves that are not stored yet finds them both ways`(isFirst: Bool) throws {
    let leaves = LeafStore(ProbeStore(bestValueSize: 1024), .none)
    func key(_ number: UInt8) -> Bytes { [0x61, number, 0] }
    let tx = try leaves.transaction()
    let editor = tx.editor(Self.tree)
    var list = EntryList()
    for number in 5..<9 as Range<UInt8> { list.append(key(number), .bool(true), nil) }
    try editor.replace(key(5), key(9), with: list)
    if isFirst {
      // Runs that are stored, and none of them holds what is put in front of all.
      try tx.flush()
      try tx.delete(Spaces.runs, StoreKey.prefix(Self.tree))
      let other = StoreKey.prefix(Self.tree) + key(5)
      let packed = RunHead.Packed(list, 0..<4, try Packing(tx, Self.tree))
      let head = RunHead(storeKey: other, fullSeparator: [], number: 7, packed)
      try tx.put(Spaces.runs, other, value: head.value)
      try tx.editor(Self.tree).put(Entry(key: key(1), value: [ValueTag.true]))
    }
    let expected: [UInt8] = (isFirst ? [1] : []) + [5, 6, 7, 8]
    var cursor = LeafCursor(tx.editor(Self.tree), [], [0xFF])
    var found: [UInt8] = []
    var isLeaf = try cursor.first()
    while isLeaf {
      found.append(cursor.key[1])
      isLeaf = try cursor.next()
    }
    #expect(found == expected)
    found = []
    isLeaf = try cursor.last()
    while isLeaf {
      found.append(cursor.key[1])
      isLeaf = try cursor.previous()
    }
    #expect(found == expected.reversed())
    #expect(try cursor.seek(key(0)) && cursor.key == key(expected[0]))
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func `A cursor reads no run outside of its range`(seed: UInt64) throws {
    var random = Seeded(seed)
    let sample = try Sample(&random, areKeysLong: false)
    let view = try sample.leaves.openSnapshot()
    defer { view.close() }
    let reader = RunReader(view: view, tree: Self.tree)
    let places = try Self.places(reader)
    for (index, place) in places.enumerated() {
      // Ranges of whole runs, and some that end within one.
      for count in 1...3 where index + count <= places.count {
        let end = index + count < places.count ? places[index + count].separator : [0xFF]
        let inside = sample.keys.last { bytesPrecede($0, end) } ?? end
        for high in [end, inside] where bytesPrecede(place.separator, high) {
          let forward = ReadMeter()
          var cursor = LeafCursor(reader, place.separator, high, forward)
          var isLeaf = try cursor.first()
          while isLeaf { isLeaf = try cursor.next() }
          #expect(forward.runs <= count, "seed \(seed), run \(index)")
          let backward = ReadMeter()
          cursor = LeafCursor(reader, place.separator, high, backward)
          isLeaf = try cursor.last()
          while isLeaf { isLeaf = try cursor.previous() }
          #expect(backward.runs <= count, "seed \(seed), run \(index)")
        }
      }
    }
  }

  /// In two commits, the second one with runs in memory that were read before the first, and in both
  /// flushed twice.
  @Test(arguments: 0..<10 as Range<UInt64>, [false, true])
  func `A run that loses its first leaves is found by the first one that is left`(
    seed: UInt64, areKeysLong: Bool
  ) throws {
    var random = Seeded(seed)
    var sample = try Sample(&random, areKeysLong: areKeysLong)
    var shortened = 0
    for _ in 0..<2 {
      let before = try sample.leaves.openSnapshot()
      defer { before.close() }
      try compare(RunReader(view: before, tree: Self.tree), sample, &random, seed)
      let tx = try sample.leaves.transaction()
      for _ in 0..<2 {
        let editor = tx.editor(Self.tree)
        editor.avoidsDeltas = true
        for place in try Self.places(editor.reader).dropFirst() where !random.one(in: 3) {
          let entries = try editor.reader.entries(place)
          guard entries.count > 3 else { continue }
          let end = entries.key(2)
          try editor.replace(place.separator, end, with: EntryList())
          for index in 0..<2 { sample.texts[entries.key(index)] = nil }
          if place.head?.isCut != true, !end.starts(with: place.separator) { shortened += 1 }
        }
        try tx.flush()
        try compare(tx.editor(Self.tree), sample, &random, seed)
      }
      try tx.writeUsage()
      _ = try sample.leaves.apply(tx, tx.batch(), .relaxed)
      let view = try sample.leaves.openSnapshot()
      defer { view.close() }
      let reader = RunReader(view: view, tree: Self.tree)
      for place in try Self.places(reader) where place.head?.isCut != true {
        #expect(try reader.entries(place).key(0).starts(with: place.separator), "seed \(seed)")
      }
      try compare(reader, sample, &random, seed)
    }
    #expect(shortened > 0 || areKeysLong, "seed \(seed)")
  }

  @Test func `A leaf within a run is found by one look at the runs`() throws {
    var random = Seeded(1)
    let sample = try Sample(&random, areKeysLong: false)
    let store = try #require(sample.leaves.store as? ProbeStore)
    let view = try sample.leaves.openSnapshot()
    defer { view.close() }
    let reader = RunReader(view: view, tree: Self.tree)
    var looked = 0
    for place in try Self.places(reader) {
      let entries = try reader.entries(place)
      guard entries.count > 2 else { continue }
      let before = store.walks.withLock { $0[Spaces.runs.id] ?? 0 }
      var cursor = LeafCursor(reader, entries.key(1), entries.key(1) + [0])
      #expect(try cursor.first())
      #expect(try !cursor.next())
      #expect(store.walks.withLock { $0[Spaces.runs.id] } == before + 1)
      looked += 1
    }
    #expect(looked > 3)
  }
}
