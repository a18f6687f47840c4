import ConiferKeyValue
import ConiferLMDB
import ConiferLeafStore
import ConiferSQLite
import ConiferTree
import Testing

@testable import ConiferStorage
@testable import StorageConformance

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A process that streams rooms through a small budget is killed again and again; what is pinned,
/// active or still tracked is whole each time, and every count is exact.
@Suite struct KilledEvictionTests {
  private static let kills: UInt64 = 10

  @Test func `LMDB`() async throws {
    let directory = try System.makeTemporaryDirectory()
    defer { System.removeTree(directory) }
    let path = directory + "/store"
    for seed in 1...Self.kills {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, seed = seed as UInt64] in
        try await Streams.run(path, seed) { try Streams.lmdb(path) }
      }
      let backend = try Streams.lmdb(path)
      try await check(backend, (backend as? PackedBackend<LMDBStore>)?.store, seed)
    }
  }

  @Test func `SQLite`() async throws {
    let directory = try System.makeTemporaryDirectory()
    defer { System.removeTree(directory) }
    let path = directory + "/store"
    for seed in 1...Self.kills {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, seed = seed as UInt64] in
        try await Streams.run(path, seed) { try Streams.sqlite(path) }
      }
      let backend = try Streams.sqlite(path)
      try await check(backend, (backend as? PackedBackend<SQLiteStore>)?.store, seed)
    }
  }

  private func check(
    _ backend: any StorageBackend, _ store: (any OrderedStore)?, _ seed: UInt64
  ) async throws {
    let store = try #require(store)
    let tree = try await backend.tree(named: "main")
    try expectExact(store, "after kill \(seed)")
    let (queries, pins) = try backend.read { (view) throws(StoreError) in
      (try view.trackedQueries(tree, after: nil, limit: .max), try view.pins(tree))
    }
    let rooms = Set(queries.compactMap { Streams.number($0.query.path) })
    let newest = rooms.max() ?? -1
    let first = Streams.began(try metadata(backend, tree))
    for room in rooms {
      #expect(try node(backend, tree, room) == Streams.room(room), "room \(room), kill \(seed)")
    }
    // A pin is committed with its data.
    for pin in pins { #expect(rooms.contains(Streams.number(pin.path) ?? -1), "kill \(seed)") }
    for room in max(0, newest - Streams.pins)..<max(0, newest) where Streams.isPinned(room) {
      #expect(pins.contains { $0.path == Streams.path(room) }, "the pin of \(room), kill \(seed)")
    }
    // A room was active when the next one was committed.
    for room in max(first, newest - Streams.listened + 10)..<max(first, newest)
    where Streams.isActive(room) {
      #expect(rooms.contains(room), "the active room \(room), kill \(seed)")
    }
    if seed % 3 == 0 {
      let report = try await backend.evicting().evict(to: 0, dryRun: false)
      #expect(!pins.isEmpty == !report.isMet, "kill \(seed)")
      let left = try backend.read { (view) throws(StoreError) in
        try view.childKeys(tree, "rooms", after: nil, limit: .max)
      }
      #expect(left.count == pins.count, "kill \(seed)")
      try expectExact(store, "after evicting what kill \(seed) left")
    }
    try await backend.close()
  }

  private func metadata(_ backend: any StorageBackend, _ tree: TreeID) throws -> [UInt8] {
    try backend.read { (view) throws(StoreError) in try view.metadata(tree, "began") } ?? []
  }

  private func node(_ backend: any StorageBackend, _ tree: TreeID, _ room: Int) throws -> Node {
    try backend.read { (view) throws(StoreError) in try view.node(tree, Streams.path(room)) }
  }

  private func expectExact(_ store: any OrderedStore, _ when: String) throws {
    let view = try store.view()
    defer { view.close() }
    for info in try Trees.all(view) {
      let counted = try UsageRow.read(view, info.id)
      var found = try Recount.whole(view, info.id)
      found.bytes = found.bytes.filter { $0.value != 0 }
      #expect(counted == found, "\(when)")
    }
  }
}

/// What the process does that is killed.
private enum Streams {
  static let options = StorageOptions(
    budget: StorageOptions.smallestBudget, durability: .process)
  /// How many rooms a pin lasts.
  static let pins = 200
  /// How many rooms an active one stays so.
  static let listened = 60

  static func lmdb(_ path: String) throws -> any StorageBackend {
    try StorageConfiguration.lmdb(at: path, options: options).open()
  }

  static func sqlite(_ path: String) throws -> any StorageBackend {
    try StorageConfiguration.sqlite(at: path, options: options).open()
  }

  static func isPinned(_ room: Int) -> Bool { room % 50 == 0 }
  static func isActive(_ room: Int) -> Bool { room % 10 == 3 }
  static func path(_ room: Int) -> Path { Path("rooms/r\(room)") }
  static func number(_ path: Path) -> Int? { path.last.flatMap { Int($0.string.dropFirst()) } }

  static func began(_ bytes: [UInt8]) -> Int {
    bytes.reduce(0) { $0 << 8 | Int($1) }
  }

  static func room(_ number: Int) -> Node {
    var random = SeededRandom(seed: UInt64(number + 1))
    return Node(
      children: (0..<150).map { leaf in
        let text = (0..<10).map { _ in String(random.next(), radix: 36) }.joined()
        return (Key("m\(leaf)"), Node(.string(text)))
      })
  }

  /// Streams rooms until it is killed: at a file operation that the seed chooses, or, where these cannot be
  /// counted, at a room.
  static func run(
    _ directory: String, _ seed: UInt64, _ open: () throws -> any StorageBackend
  ) async throws {
    var random = SeededRandom(seed: seed)
    try? System.makeDirectory(directory)
    let session = IOSession.isAvailable ? try IOSession.fail(directory, at: nil, with: .kill) : nil
    defer { session?.end() }
    let backend = try open()
    let tree = try await backend.tree(named: "main")
    var room =
      try backend.read { (view) throws(StoreError) in
        try view.trackedQueries(tree, after: nil, limit: .max)
      }.compactMap { number($0.query.path) }.max().map { $0 + 1 } ?? 0
    try await backend.commit([
      .setMetadata(tree, "began", [24, 16, 8, 0].map { UInt8(room >> $0 & 255) })
    ])
    let count = Int.random(in: 20..<1_000, using: &random)
    if let session { session.fail(at: session.operationCount + count, with: .kill) }
    let last = room + count / 10
    var active: [QueryID] = []
    while true {
      let path = path(room)
      var edits: [StorageEdit] = [
        .overwrite(tree, path, Self.room(room)),
        .saveQuery(
          TrackedQuery(tree: tree, path: path, isComplete: true, lastUse: UInt64(room + 1))),
      ]
      if isPinned(room) {
        edits.append(.pin(Pin(tree: tree, path: path)))
        edits.append(.unpin(Pin(tree: tree, path: Self.path(room - pins - 50))))
      }
      let id = try await backend.commit(edits).queries[0]
      if isActive(room) {
        backend.setActive(true, id, in: tree)
        active.append(id)
        if active.count > listened / 10 { backend.setActive(false, active.removeFirst(), in: tree) }
      }
      if room % 16 == 15 {
        Task.detached { _ = try await backend.evicting().evict(to: 250_000, dryRun: false) }
      }
      room += 1
      if session == nil, room > last { System.die() }
    }
  }
}
