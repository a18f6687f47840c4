import ConiferKeyValue
import ConiferStorage
import Testing

@testable import ConiferLMDB

/// LMDB's pages are checked in the file: changed ones are found, and none brings the check down.
@Suite struct VerifyTests {
  private static let rows = Space(id: 1, shape: .rows)
  private static let blobs = Space(id: 2, shape: .blobs)

  private struct Dice {
    var state: UInt64
    mutating func next(below bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }
  }

  private static func filled(_ path: String) throws -> LMDBStore {
    let store = try LMDBStore(at: path)
    for round in 0..<30 {
      var batch = Batch()
      for number in 0..<60 {
        let key = [UInt8(round), UInt8(number)]
        batch.put(rows, key, Bytes(repeating: UInt8(number), count: 50))
        if number % 20 == 0 { batch.put(blobs, key, Bytes(repeating: 7, count: 9000)) }
      }
      if round > 3 { batch.clear(rows, from: [UInt8(round - 3)], to: [UInt8(round - 3), 30]) }
      _ = try store.apply(batch, .process)
    }
    return store
  }

  private static func findings(_ store: LMDBStore) throws -> (
    list: [StoreFinding], isReadable: Bool
  ) {
    var found: [StoreFinding] = []
    let isReadable = try store.verify { found.append($0) }
    return (found, isReadable)
  }

  @Test func `A sound store has no findings, also while commits go on`() throws {
    let scratch = TemporaryDirectory()
    let store = try Self.filled(scratch.path)
    #expect(try Self.findings(store).list == [])
    let view = try store.view()
    for number in 0..<20 {
      var batch = Batch()
      batch.put(Self.rows, [200, UInt8(number)], [1])
      _ = try store.apply(batch, .process)
      let found = try Self.findings(store)
      #expect(found.list == [] && found.isReadable)
    }
    view.close()
    try store.close()
  }

  @Test func `A value that took the place of a longer one is sound, as it keeps its pages`() throws
  {
    let scratch = TemporaryDirectory()
    let store = try Self.filled(scratch.path)
    var batch = Batch()
    batch.put(Self.rows, [201], Bytes(repeating: 1, count: 40_000))
    batch.put(Self.rows, [201], Bytes(repeating: 2, count: 9_000))
    _ = try store.apply(batch, .process)
    #expect(try Self.findings(store).list == [])
    try store.close()
    let again = try LMDBStore(at: scratch.path)
    #expect(try Self.findings(again).list == [])
    try again.close()
  }

  @Test func `Whatever byte of the file is changed, the check ends, and finds broken pages`() throws
  {
    let scratch = TemporaryDirectory()
    let store = try Self.filled(scratch.path)
    let file = scratch.path + "/data.mdb"
    let original = Files.read(file)
    let pageSize = 4096
    var found = 0
    var tried = 0
    var random = Dice(state: 11)
    print("seed 11")
    // Behind the last page that was written there are zeros, allocated ahead.
    let used = (original.lastIndex { $0 != 0 } ?? 0) / pageSize
    for page in stride(from: 0, through: used, by: 7) {
      // The header, the pointers to nodes, the first node, and somewhere.
      for at in [0, 10, 12, 14, 16, 18, random.next(below: pageSize)] {
        let offset = page * pageSize + at
        Files.patch(file, at: offset, original[offset] ^ UInt8(1 << random.next(below: 8)))
        let now = try Self.findings(store)
        tried += 1
        if !now.list.isEmpty { found += 1 }
        #expect(now.list.isEmpty == now.isReadable)
        Files.patch(file, at: offset, original[offset])
      }
    }
    #expect(try Self.findings(store).list == [])
    // Free pages may hold anything, and so may the inside of values.
    #expect(found > tried / 6, "\(found) of \(tried)")
    try store.close()
  }

  @Test func `A page that is used and free, and one that is reached twice, are found`() throws {
    let scratch = TemporaryDirectory()
    let store = try Self.filled(scratch.path)
    let file = scratch.path + "/data.mdb"
    let original = Files.read(file)
    // The newest meta page's tree of pages: its root points to another child twice.
    let metas = [0, 4096].map { original.number(at: $0 + 144, bytes: 8) }
    let meta = metas[0] > metas[1] ? 0 : 4096
    let root = original.number(at: meta + 88 + 40, bytes: 8) * 4096
    let first = root + original.number(at: root + 16, bytes: 2)
    let second = root + original.number(at: root + 18, bytes: 2)
    for byte in 0..<6 { Files.patch(file, at: second + byte, original[first + byte]) }
    let twice = try Self.findings(store)
    #expect(twice.list.contains { $0.words.contains("reached twice") }, "\(twice.list)")
    for byte in 0..<6 { Files.patch(file, at: second + byte, original[second + byte]) }
    // A list of free pages that names the root.
    let free = original.number(at: meta + 40 + 40, bytes: 8) * 4096
    let node = free + original.number(at: free + 16, bytes: 2)
    #expect(original.number(at: free + 10, bytes: 2) == 2, "the tree of free pages is one page")
    for (index, byte) in withUnsafeBytes(of: UInt64(root / 4096).littleEndian, Array.init)
      .enumerated()
    {
      Files.patch(file, at: node + 8 + 8 + 8 + index, byte)
    }
    let both = try Self.findings(store)
    #expect(both.list.contains { $0.words.contains("counts as free") }, "\(both.list)")
    Files.write(file, original)
    try store.close()
  }
}
