import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Runs that are left as they are when all that comes, comes behind them.
@Suite struct GrownRunTests {
  private typealias Random = Seeded

  /// Messages with fields of which each may lack, so that neighbours differ in their names.
  private static func room(_ messages: Int, _ random: inout Random) -> Node {
    let names = ["author", "7", "007", "text", "-1", "é\u{1}", "\u{FFFD}", "😀", "ts"]
    return Node(
      children: (0..<messages).map { number in
        let fields = names.filter { _ in !Bool.random(using: &random) }.map { name in
          let words = (0..<Int.random(in: 1...6, using: &random)).map { _ in
            String(UInt32.random(in: 0...9999, using: &random), radix: 36)
          }
          return (Key(name), Node(.string(words.joined(separator: " "))))
        }
        return (Key("m\(1000 + number)"), Node(children: fields))
      })
  }

  private static func record(_ store: MemoryStore, _ key: Bytes) throws -> Bytes? {
    try store.view().value(Spaces.runs, key)
  }

  @Test func `A full run is not written again when data comes behind it`() async throws {
    let store = MemoryStore()
    let backend = try MemoryBackend(
      store, name: "memory", options: StorageOptions(compression: .none))
    let tree = try await backend.tree(named: "main")
    // About 13 KB: one run that is nearly full.
    let rooms = (0..<3).map { room in
      Node(
        children: (0..<(400 - 20 * room)).map { number in
          (Key("m\(1000 + number)"), Node(.string("text number \(number) of room \(room)")))
        })
    }
    var expected: [Bytes: Bytes] = [:]
    for (number, room) in rooms.enumerated() {
      try await backend.commit([.overwrite(tree, Path("room\(number)"), room)])
      for (key, value) in expected { #expect(try Self.record(store, key) == value) }
      for key in try store.keys(Spaces.runs) { expected[key] = try Self.record(store, key) }
    }
    #expect(expected.count == 3)
    let read = try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
    #expect(
      read == Node(children: rooms.enumerated().map { (Key("room\($0.offset)"), $0.element) }))
    try expectExactUsage(store, "at the end")
  }

  @Test func `A small run takes in what comes behind it`() async throws {
    let store = MemoryStore()
    let backend = try MemoryBackend(
      store, name: "memory", options: StorageOptions(compression: .none))
    let tree = try await backend.tree(named: "main")
    for number in 0..<30 {
      var random = Random(UInt64(number))
      try await backend.commit([
        .overwrite(tree, Path("room\(10 + number)"), Self.room(10, &random))
      ])
    }
    let raw = try backend.read { (view) throws(StoreError) in try view.usage(tree).rawLeafBytes }
    // No run is less than about half full.
    #expect(try store.keys(Spaces.runs).count <= raw / (RunSizing.largestRaw / 2) + 1)
  }

  @Test(arguments: 0..<12 as Range<UInt64>)
  func `Rooms in any order, in one commit or in many, make the same tree`(
    seed: UInt64
  ) async throws {
    var random = Random(seed)
    let store = ProbeStore(bestValueSize: seed.isMultiple(of: 2) ? 1024 : 4080)
    let compression: Compression = seed.isMultiple(of: 3) ? .none : .standard
    let backend = try PackedBackend(
      store, name: "probe", options: StorageOptions(compression: compression))
    let tree = try await backend.tree(named: "main")
    // Below a long path the keys of the store are cut.
    let long = Path((0..<7).map { Key(String(repeating: "\($0)x", count: 50)) })
    let parent = seed % 4 < 2 ? Path("rooms") : long
    var expected = Node.empty
    for round in 0..<12 {
      var edits: [StorageEdit] = []
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let key = Key("r\(Int.random(in: 10...30, using: &random))")
        let room =
          Int.random(in: 0..<8, using: &random) == 0
          ? Node.empty : Self.room(.random(in: 1...60, using: &random), &random)
        expected = expected.setting(Path([key]), to: room)
        edits.append(.overwrite(tree, parent.appending(key), room))
      }
      try await backend.commit(edits)
      let read = try backend.read { (view) throws(StoreError) in try view.node(tree, parent) }
      try #require(read == expected, "seed \(seed), round \(round)")
      let usage = try backend.read { (view) throws(StoreError) in try view.usage(tree) }
      try #require(usage.leaves == expected.leafCount, "seed \(seed), round \(round)")
    }
    var passes = 0
    while passes < 20, try await backend.tidy(.seconds(5)) { passes += 1 }
    #expect(passes < 20, "seed \(seed): tidying finds no end")
    let read = try backend.read { (view) throws(StoreError) in try view.node(tree, parent) }
    #expect(read == expected, "seed \(seed)")
    try expectExactUsage(store.base, "seed \(seed)")
  }
}
