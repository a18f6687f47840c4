import ConiferKeyValue
import ConiferLMDB
import ConiferLeafStore
import ConiferLog
import ConiferSQLite
import ConiferTree
import Synchronization
import TestSupport
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

/// Two processes: one owns a store, the other reads it; either is killed.
@Suite struct SharedReaderTests {
  private static var seed: UInt64 {
    System.variable("CONIFER_SEED").flatMap { UInt64($0) } ?? .random(in: 0...(.max >> 1))
  }

  @Test(
    "A reader sees whole commits, every acknowledged one, while the owner lives and after it was killed",
    arguments: SharedStore.Kind.allCases)
  func reads(kind: SharedStore.Kind) async throws {
    let store = try SharedStore(kind)
    defer { store.remove() }
    let seed = Self.seed
    print("\(kind.rawValue): CONIFER_SEED=\(seed)")
    var random = SeededRandom(seed: seed)
    // It stays open over the lives of its owners.
    let reading = Reading(store, seed)
    for life in 0..<3 {
      let reads = 60 + Int(random.next() % 100)
      // A process that is waited for holds a thread of the tests', so this has one of its own.
      let beside = try System.Thread {
        defer { System.end(try? store.begun.last) }
        try reading.read(reads, life)
      }
      await Self.expectKilled(store, random.next())
      if let error = beside.join() { throw error }
      let left = store.content
      try reading.readOnce()
      // A process has LMDB's file open once.
      if kind != .lmdb {
        let another = Reading(store, seed)
        another.last = reading.last
        try another.readOnce()
        another.reader?.close()
      }
      #expect(store.content == left, "what a killed owner left is not touched")
    }
    reading.reader?.close()
    let backend = try store.configuration.open()
    let found = try backend.read { (view) throws(StoreError) in try SharedStore.number(view) }
    #expect(found ?? 0 >= reading.last)
    #expect(try backend.verifying().verify().isSound)
    try await backend.close()
  }

  /// Reads beside an owner.
  private final class Reading: @unchecked Sendable {
    // Unchecked: used by one thread after the other.
    let store: SharedStore
    let seed: UInt64
    var reader: StorageReader?
    /// The newest commit that was seen.
    var last = 0

    init(_ store: SharedStore, _ seed: UInt64) { (self.store, self.seed) = (store, seed) }

    /// Reads whole commits so often, beside the owner of a life.
    func read(_ count: Int, _ life: Int) throws {
      try store.waitUntilBegun(life)
      for _ in 0..<count { try readOnce() }
    }

    /// Reads twice in one view, what is acknowledged at least.
    func readOnce() throws {
      let acknowledged = try store.acknowledged
      let reader = try reader ?? store.configuration.openReader()
      self.reader = reader
      let seen = try reader.read { (view) throws(StoreError) in
        (try SharedStore.number(view), try SharedStore.number(view))
      }
      guard seen.0 == seen.1, seen.0 ?? 0 >= max(acknowledged, last) else {
        throw ConformanceFailure(
          "A view shows commits \(seen), behind \(acknowledged) and \(last); seed \(seed).")
      }
      last = seen.0 ?? 0
    }
  }

  private static func expectKilled(_ store: SharedStore, _ seed: UInt64) async {
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [store = store as SharedStore, seed = seed as UInt64] in
      try await store.own(seed: seed)
    }
  }

  @Test(
    "A reader that is killed within a view costs the owner nothing",
    arguments: SharedStore.Kind.allCases)
  func killed(kind: SharedStore.Kind) async throws {
    let store = try SharedStore(kind)
    defer { store.remove() }
    let backend = try store.configuration.open()
    let tree = try await backend.tree(named: "main")
    var random = SeededRandom(seed: 7)
    var number = 0
    func commit(_ count: Int) async throws -> Int {
      for _ in 0..<count {
        number += 1
        _ = try await backend.commit(SharedStore.edits(tree, number, &random), .process)
      }
      // There may always be more to do while a view is held.
      for _ in 0..<10 where try await backend.tidy(.milliseconds(20)) {}
      return try backend.size().file
    }
    let before = try await commit(80)
    // A process that is waited for holds a thread of the tests', so the owner goes on in one of its own.
    let beside = try System.Thread { [number] in
      defer { System.end(try? store.begun.last) }
      try store.waitUntilBegun(0)
      var random = SeededRandom(seed: 8)
      for number in number + 1...number + 80 {
        _ = try backend.commitAndWait(SharedStore.edits(tree, number, &random), .process)
      }
    }
    await expectHeld(store)
    if let error = beside.join() { throw error }
    number += 80
    let after = try await commit(300)
    // What the killed reader held would pin a copy of each page that a commit changes.
    #expect(after <= 8 * before, "\(before) bytes became \(after)")
    #expect(try backend.verifying().verify().isSound)
    #expect(
      try backend.read { (view) throws(StoreError) in try SharedStore.number(view) } == number)
    try await backend.suspend()
    #expect(System.lastingLocks(under: store.path)?.isEmpty != false)
    try await backend.resume()
    try await backend.close()
  }

  private func expectHeld(_ store: SharedStore) async {
    await #expect(processExitsWith: .signal(SIGKILL)) { [store = store as SharedStore] in
      try store.hold()
    }
  }

  @Test("An open reader follows a store that grows", arguments: SharedStore.Kind.allCases)
  func growing(kind: SharedStore.Kind) async throws {
    let store = try SharedStore(kind)
    defer { store.remove() }
    var reader: StorageReader?
    var expected = 0
    for (commits, bytes) in [(3, 0), (12, 400_000), (2, 0)] {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [store = store as SharedStore, commits = commits as Int, bytes = bytes as Int] in
        try await store.own(commits: commits, bytes: bytes)
      }
      expected += commits
      let open = try reader ?? store.configuration.openReader()
      reader = open
      let (number, isThere) = try open.read { (view) throws(StoreError) in
        let tree = try view.trees()[0].id
        let large = try view.node(tree, Path("large/n\(min(expected, 15))"))
        return (try SharedStore.number(view), !large.isEmpty)
      }
      #expect(number == expected)
      #expect(isThere)
    }
    reader?.close()
  }

  @Test("A store that nobody owns is read as it is", arguments: SharedStore.Kind.allCases)
  func closed(kind: SharedStore.Kind) async throws {
    let store = try SharedStore(kind)
    defer { store.remove() }
    #expect(code { () throws(StoreError) in _ = try store.configuration.openReader() } == .missing)
    #expect(Scratch.names(store.directory).isEmpty, "a reader makes nothing")
    let backend = try store.configuration.open()
    let tree = try await backend.tree(named: "main")
    var random = SeededRandom(seed: 3)
    _ = try await backend.commit(SharedStore.edits(tree, 1, &random), .power)
    // This process has it open.
    #expect(code { () throws(StoreError) in _ = try store.configuration.openReader() } == .invalid)
    try await backend.close()
    let left = store.content
    let reader = try store.configuration.openReader()
    #expect(try reader.read { (view) throws(StoreError) in try SharedStore.number(view) } == 1)
    reader.close()
    #expect(
      code { () throws(StoreError) in try reader.read { (_) throws(StoreError) in } } == .closed)
    #expect(store.content == left)
    let again = try store.configuration.open()
    _ = try await again.commit(SharedStore.edits(tree, 2, &random), .power)
    try await again.close()
  }

  @Test("A reader keeps the owner in its own process from nothing")
  func ownProcess() async throws {
    let store = try SharedStore(.lmdb)
    defer { store.remove() }
    var backend = try store.configuration.open()
    let tree = try await backend.tree(named: "main")
    var random = SeededRandom(seed: 3)
    _ = try await backend.commit(SharedStore.edits(tree, 1, &random), .power)
    try await backend.close()
    let reader = try store.configuration.openReader()
    defer { reader.close() }
    func number() throws(StoreError) -> Int? {
      try reader.read { (view) throws(StoreError) in try SharedStore.number(view) }
    }
    #expect(try number() == 1)
    backend = try store.configuration.open()
    _ = try await backend.commit(SharedStore.edits(tree, 2, &random), .power)
    #expect(code { () throws(StoreError) in _ = try number() } == .invalid)
    for round in 3...5 {
      try await backend.suspend()
      #expect(try number() == round - 1)
      try await backend.resume()
      #expect(code { () throws(StoreError) in _ = try number() } == .invalid)
      _ = try await backend.commit(SharedStore.edits(tree, round, &random), .power)
    }
    // A read that is under way ends at its next row.
    try await backend.suspend()
    var opened: (any StorageBackend)?
    let during = code { () throws(StoreError) in
      try reader.read { (view) throws(StoreError) in
        _ = try SharedStore.number(view)
        opened = try store.configuration.open()
        _ = try view.metadata(tree, "x")
      }
    }
    #expect(during == .closed)
    try await opened?.close()
    #expect(try number() == 5)
    try await backend.resume()
    try await backend.close()
  }

  @Test("An owner waits for a reader of its process that is just being opened")
  func openedMeanwhile() async throws {
    let store = try SharedStore(.lmdb)
    defer { store.remove() }
    try await store.configuration.open().close()
    let claim = try #require(ProcessClaim(store.path + "/data.mdb"))
    let asked = Atomic(0)
    claim.yields {
      if asked.add(1, ordering: .relaxed).newValue == 3 { claim.release() }
    }
    try await store.configuration.open().close()
    #expect(asked.load(ordering: .relaxed) == 3)
  }

  @Test("A reader of a log keeps no file between reads", .enabled(if: IOSession.isAvailable))
  func files() async throws {
    let store = try SharedStore(.log)
    defer { store.remove() }
    let backend = try store.configuration.open()
    let tree = try await backend.tree(named: "main")
    var random = SeededRandom(seed: 4)
    for number in 1...40 {
      _ = try await backend.commit(SharedStore.edits(tree, number, &random), .power)
    }
    try await backend.close()
    let reader = try store.configuration.openReader()
    defer { reader.close() }
    #expect(System.openFiles(under: store.path) == [])
    for _ in 0..<2 {
      let files = try reader.read { (view) throws(StoreError) -> [String] in
        // Also while another view begins and ends.
        let beside = try reader.read { (view) throws(StoreError) in try SharedStore.number(view) }
        let own = try SharedStore.number(view)
        #expect(beside == 40 && own == 40)
        return System.openFiles(under: store.path)
      }
      #expect(!files.isEmpty)
      #expect(System.openFiles(under: store.path) == [])
    }
  }

  @Test("Another kind of store, an unfinished and a newer one are refused")
  func refused() async throws {
    let store = try SharedStore(.sqlite)
    defer { store.remove() }
    try await store.configuration.open().close()
    for other in [StorageConfiguration.lmdb(at: store.path), .log(at: store.path)] {
      #expect(code { () throws(StoreError) in _ = try other.openReader() } == .foreign)
    }
    try UnfinishedStore.mark(store.path, ["Wait."])
    #expect(code { () throws(StoreError) in _ = try store.configuration.openReader() } == .foreign)
    try UnfinishedStore.finish(store.path)
    _ = try store.configuration.openReader()
    #expect(
      code { () throws(StoreError) in _ = try StorageConfiguration.memory.openReader() }
        == .unsupported)
  }

  @Test("Records of a newer format are refused", arguments: SharedStore.Kind.allCases)
  func newer(kind: SharedStore.Kind) async throws {
    let store = try SharedStore(kind)
    defer { store.remove() }
    try await store.configuration.open().close()
    let rows: any OrderedStore =
      switch kind {
      case .sqlite: try SQLiteStore(at: store.path)
      case .lmdb: try LMDBStore(at: store.path)
      case .log: try LogStore(at: store.path)
      }
    let key = SystemKey.format.bytes
    try rows.put(Spaces.system, key, Record.seal(Spaces.system, key, [2]), .power)
    try rows.close()
    #expect(
      code { () throws(StoreError) in _ = try store.configuration.openReader() } == .newerFormat)
  }

  @Test("A reader follows a store whose files were exchanged", arguments: SharedStore.Kind.allCases)
  func exchanged(kind: SharedStore.Kind) async throws {
    let store = try SharedStore(kind)
    defer { store.remove() }
    var random = SeededRandom(seed: 5)
    func make(_ number: Int) async throws {
      let backend = try store.configuration.open()
      let tree = try await backend.tree(named: "main")
      _ = try await backend.commit(SharedStore.edits(tree, number, &random), .power)
      try await backend.close()
    }
    try await make(1)
    let reader = try store.configuration.openReader()
    defer { reader.close() }
    func number() throws -> Int? {
      try reader.read { (view) throws(StoreError) in try SharedStore.number(view) }
    }
    #expect(try number() == 1)
    try Directory.move(store.path, to: store.directory + "/old")
    #expect(
      code { () throws(StoreError) in try reader.read { (_) throws(StoreError) in } } == .missing)
    try await make(2)
    #expect(try number() == 2)
  }
}
