import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferStorage

/// The ranges that eviction must leave alone, against a search of everything.
@Suite struct CoverageTests {
  /// Paths of few segments, some long enough to be cut in the indexes.
  private static func path(_ random: inout Seeded) -> Path {
    var path = Path.root
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      path = path.appending(key(&random))
    }
    return path
  }

  private static func key(_ random: inout Seeded) -> Key {
    switch Int.random(in: 0..<12, using: &random) {
    case 0: Key("\(Int.random(in: -2...12, using: &random))")
    case 1: Key(String(repeating: "l", count: Int.random(in: 150...260, using: &random)))
    case 2, 3:
      Key(
        ["", "\0", "a\0", "a\0b", "a\u{1}", "é", "\u{FFFD}", "😀", "007", "-0"]
          .randomElement(using: &random) ?? "")
    default: Key(String("abcd".randomElement(using: &random) ?? "a"))
    }
  }

  @Test(arguments: 0..<90 as Range<UInt64>)
  func `Every key is covered exactly when a pin or a query covers it`(_ seed: UInt64) async throws {
    var random = Seeded(seed)
    let backend = try MemoryBackend(
      MemoryStore(), name: "memory", options: StorageOptions(budget: nil))
    let order: KeyOrder = seed % 3 == 0 ? .utf8 : .realtimeDatabase
    let tree = try await backend.tree(named: "main", order: order)
    var pins: [Path] = []
    var whole: [Path] = []
    var held: [(path: Path, keys: [Key])] = []
    for index in 0..<Int.random(in: 0...8, using: &random) {
      let path = Self.path(&random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        try await backend.commit([.pin(Pin(tree: tree, path: path))])
        pins.append(path)
      case 1:
        try await backend.commit([.saveQuery(TrackedQuery(tree: tree, path: path))])
        whole.append(path)
      default:
        let query = TrackedQuery(tree: tree, path: path, parameters: "{\"l\":\(index)}")
        let id = try await backend.commit([.saveQuery(query)]).queries[0]
        let keys = (0..<Int.random(in: 0...4, using: &random)).map { _ in Self.key(&random) }
        try await backend.commit([.setTrackedKeys(tree, id, keys)])
        if keys.isEmpty { whole.append(path) } else { held.append((path, keys)) }
      }
    }
    var probes = (0..<80).map { _ in Self.path(&random).appending(Self.key(&random)) }
    // Long paths are met on purpose alone.
    for path in pins + whole
      + held.flatMap({ query in query.keys.map { query.path.appending($0) } })
    {
      probes += [path, path.appending(Key("c"))]
    }
    let view = try backend.store.view()
    let coverage = Coverage(view, try Trees.known(view, tree))
    let pinned = Coverage(view, try Trees.known(view, tree), .pins)
    let all = try coverage.ranges([], [PathKey.endMark])
    for (a, b) in zip(all, all.dropFirst()) {
      #expect(bytesPrecede(a.low, a.high) && bytesPrecede(a.high, b.low), "seed \(seed)")
    }
    for probe in probes {
      // The priority of an interior node is covered as the node is.
      let mark = Bool.random(using: &random) ? [PathKey.priorityMark] : []
      let key = PathKey.encode(probe, order) + mark
      let isCovered =
        (pins + whole).contains { $0.contains(probe) }
        || held.contains { query in
          query.keys.contains { query.path.appending($0).contains(probe) }
        }
      let found = try coverage.next(key)
      let isFound = found.map { compareBytes($0.low, key) <= 0 } ?? false
      // What an index cuts may cover more, never less.
      let isLong = probe.keys.contains { $0.string.utf8.count > 100 }
      if isCovered || !isLong { #expect(isFound == isCovered, "\(probe), seed \(seed)") }
      let isListed = all.contains {
        compareBytes($0.low, key) <= 0 && compareBytes(key, $0.high) < 0
      }
      #expect(isListed == isFound, "\(probe), seed \(seed)")
      let pin = try pinned.next(key)
      let isPinned = pin.map { compareBytes($0.low, key) <= 0 } ?? false
      if !isLong {
        #expect(isPinned == pins.contains { $0.contains(probe) }, "\(probe), seed \(seed)")
      }
    }
  }

  @Test func `What many queries at one path hold is read about once`() async throws {
    let store = ProbeStore()
    let backend = try PackedBackend(store, name: "probe", options: StorageOptions(budget: nil))
    let tree = try await backend.tree(named: "main")
    var edits: [StorageEdit] = []
    for query in 0..<100 {
      let parameters = "{\"l\":\(query)}"
      edits.append(.saveQuery(TrackedQuery(tree: tree, path: "/rooms", parameters: parameters)))
    }
    let ids = try await backend.commit(edits).queries
    try await backend.commit(
      ids.enumerated().map { place, id in
        .setTrackedKeys(tree, id, (0..<10).map { Key("k\($0 * 200 + place * 2)") })
      })
    let view = try store.view()
    let coverage = Coverage(view, try Trees.known(view, tree))
    var count = 0
    let read = try store.counting { count = try coverage.ranges([], [PathKey.endMark]).count }
    #expect(count == 1000)
    // Each key once, each query's row once, and what is asked for each range.
    #expect(read < 6000)
  }
}
