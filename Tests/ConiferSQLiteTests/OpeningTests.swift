import ConiferKeyValue
import ConiferStorage
import TestSupport
import Testing

@testable import ConiferSQLite

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("Opening a SQLite store")
struct OpeningTests {
  let scratch: Scratch
  init() throws { scratch = try Scratch() }

  func opened() -> StoreError.Code? {
    code { () throws(StoreError) in try SQLiteStore(at: scratch.store).close() }
  }

  /// A store of some hundred pages, closed in order; returns its database.
  func filled() throws -> Bytes {
    let store = try SQLiteStore(at: scratch.store)
    for round in 0..<20 {
      var batch = Batch()
      for n in 0..<100 {
        batch.put(rows, key(round * 100 + n), Bytes(repeating: UInt8(n), count: 60))
        batch.put(blobs, key(round * 100 + n), Bytes(repeating: UInt8(n), count: n * 20))
      }
      _ = try store.apply(batch, .process)
    }
    try store.close()
    return Scratch.read((scratch.store + "/conifer.sqlite"))
  }

  @Test("A second opener is told who owns the store")
  func second() throws {
    let store = try SQLiteStore(at: scratch.store)
    do throws(StoreError) {
      _ = try SQLiteStore(at: scratch.store)
      Issue.record("opened twice")
    } catch {
      #expect(error.code == .busy)
      #expect(error.message.contains("\(getpid())"))
    }
    try store.put(rows, [1], [1])
    try store.close()
    #expect(opened() == nil)
  }

  @Test("Foreign files are refused and left as they are")
  func foreign() throws {
    Scratch.write([1, 2, 3], scratch.store)
    #expect(opened() == .foreign)
    unlink(scratch.store)
    try SQLiteStore(at: scratch.store).close()
    let text = Bytes(repeating: 65, count: 10_000)
    Scratch.write(text, (scratch.store + "/conifer.sqlite"))
    #expect(opened() == .foreign)
    #expect(Scratch.read((scratch.store + "/conifer.sqlite")) == text)
    unlink((scratch.store + "/conifer.sqlite"))
    let other = try Connection((scratch.store + "/conifer.sqlite"), flags: 6, vfs: nil)
    try other.execute("PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES(1)")
    other.close()
    let bytes = Scratch.read((scratch.store + "/conifer.sqlite"))
    #expect(opened() == .foreign)
    #expect(Scratch.read((scratch.store + "/conifer.sqlite")) == bytes)
  }

  @Test("A newer format is refused, and a store without its tables is damaged")
  func newer() throws {
    _ = try filled()
    func change(_ sql: String) throws {
      let connection = try Connection((scratch.store + "/conifer.sqlite"), flags: 2, vfs: nil)
      try connection.execute(sql)
      connection.close()
    }
    try change("PRAGMA user_version=2")
    #expect(opened() == .newerFormat)
    try change("PRAGMA user_version=1")
    #expect(opened() == nil)
    try change("DROP TABLE blobs")
    #expect(opened() == .damaged)
  }

  @Test("A database that vanished beside its log is not begun anew")
  func vanished() throws {
    _ = try filled()
    unlink((scratch.store + "/conifer.sqlite"))
    Scratch.write(Bytes(repeating: 0, count: 100), (scratch.store + "/conifer.sqlite") + "-wal")
    #expect(opened() == .damaged)
    #expect(Scratch.length((scratch.store + "/conifer.sqlite") + "-wal") == 100)
    unlink((scratch.store + "/conifer.sqlite") + "-wal")
    #expect(opened() == .damaged)
    #expect(Scratch.length(scratch.store + "/conifer.sqlite") == 0)
  }

  @Test(
    "Of a store from before kinds were recorded, the files that it made later tell that it was there",
    arguments: ["-wal", "-journal"])
  func vanishedBefore(ending: String) throws {
    try Platform.makeDirectory(scratch.store)
    Scratch.write([], scratch.store + "/owner")
    Scratch.write([1], scratch.store + "/conifer.sqlite" + ending)
    #expect(opened() == .damaged)
    #expect(Scratch.length(scratch.store + "/conifer.sqlite") == 0)
    // An opening that was cut off may leave an empty one, where the database's own name was not durable.
    Scratch.write([], scratch.store + "/conifer.sqlite" + ending)
    #expect(opened() == nil)
  }

  @Test("What a crash left of a creation is swept away")
  func leftovers() throws {
    try Platform.makeDirectory(scratch.store)
    Scratch.write([0, 1, 2], (scratch.store + "/conifer.sqlite") + ".new")
    Scratch.write([0, 1, 2], (scratch.store + "/conifer.sqlite") + ".new-journal")
    #expect(opened() == nil)
    #expect(Scratch.length((scratch.store + "/conifer.sqlite") + ".new") == 0)
  }

  @Test("A database that may not be written is denied", .enabled(if: getuid() != 0, "runs as root"))
  func denied() throws {
    _ = try filled()
    chmod((scratch.store + "/conifer.sqlite"), 0)
    #expect(opened() == .denied)
  }

  /// Opens, walks everything and changes something; returns the codes of what failed.
  func exercise() -> Set<StoreError.Code> {
    var codes: Set<StoreError.Code> = []
    func attempt(_ body: () throws(StoreError) -> Void) {
      if let code = code(body) { codes.insert(code) }
    }
    let store: SQLiteStore
    do throws(StoreError) {
      store = try SQLiteStore(at: scratch.store)
    } catch { return [error.code] }
    for space in [rows, blobs] {
      for descending in [false, true] {
        attempt { () throws(StoreError) in
          _ = try contents(try store.view(), space, descending: descending)
        }
      }
    }
    attempt { () throws(StoreError) in _ = try store.verify { _ in } }
    attempt { () throws(StoreError) in try store.put(rows, key(777), [1]) }
    attempt { () throws(StoreError) in
      var batch = Batch()
      batch.clear(blobs, from: key(100), to: key(400))
      _ = try store.apply(batch, .process)
    }
    attempt { () throws(StoreError) in _ = try store.tidy(.seconds(1)) }
    attempt { () throws(StoreError) in try store.close() }
    return codes
  }

  @Test("A database cut anywhere opens with a typed error, never as an empty store")
  func cut() throws {
    let whole = try filled()
    let lengths =
      [0, 1, 15, 16, 50, 99, 100, 511, 4_095, 4_096, 4_097, 8_192]
      + stride(from: 10_000, to: whole.count, by: whole.count / 30)
      + [whole.count - 4_096, whole.count - 1]
    for length in lengths {
      Scratch.write(Bytes(whole[..<length]), (scratch.store + "/conifer.sqlite"))
      #expect(opened() == .damaged, "cut to \(length)")
      #expect(Scratch.length((scratch.store + "/conifer.sqlite")) == length)
    }
    Scratch.write(whole, (scratch.store + "/conifer.sqlite"))
    #expect(exercise() == [])
  }

  @Test("Flipped bits end in typed errors and never in a trap")
  func flips() throws {
    let whole = try filled()
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    let allowed: Set<StoreError.Code> = [
      .damaged, .foreign, .newerFormat, .poisoned, .tooLarge, .io, .full,
    ]
    var noticed = 0
    for round in 0..<120 {
      var bytes = whole
      // The header and the first pages hold the structure; then anywhere, and clusters.
      let range = round < 50 ? 100 : round < 90 ? 20_000 : whole.count
      for _ in 0..<(round % 3 == 2 ? 20 : 1) {
        bytes[Int.random(in: 0..<range, using: &random)] ^=
          1
          << UInt8.random(
            in: 0..<8, using: &random)
      }
      Scratch.write(bytes, (scratch.store + "/conifer.sqlite"))
      let codes = exercise()
      #expect(codes.isSubset(of: allowed), "seed \(seed) round \(round): \(codes)")
      if !codes.isEmpty { noticed += 1 }
      unlink((scratch.store + "/conifer.sqlite") + "-wal")
      unlink((scratch.store + "/conifer.sqlite") + "-shm")
    }
    #expect(noticed > 20, "seed \(seed)")
  }

  @Test("A log cut or flipped anywhere leaves a prefix of the commits")
  func logCuts() throws {
    // The database and log of a store that was never closed, as a crash leaves them.
    var database: Bytes = []
    var log: Bytes = []
    do {
      let store = try SQLiteStore(at: scratch.store)
      for n in 1...40 {
        var batch = Batch()
        batch.put(rows, [0], [UInt8(n)])
        batch.put(blobs, key(n), Bytes(repeating: UInt8(n), count: n * 100))
        _ = try store.apply(batch, n % 3 == 0 ? .power : .process)
      }
      database = Scratch.read((scratch.store + "/conifer.sqlite"))
      log = Scratch.read((scratch.store + "/conifer.sqlite") + "-wal")
      try store.close()
    }
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    for round in 0..<60 {
      var torn = log
      if round % 2 == 0 {
        torn.removeLast(Int.random(in: 0...log.count, using: &random))
      } else {
        torn[Int.random(in: 32..<log.count, using: &random)] ^= 0x10
      }
      Scratch.write(database, (scratch.store + "/conifer.sqlite"))
      Scratch.write(torn, (scratch.store + "/conifer.sqlite") + "-wal")
      unlink((scratch.store + "/conifer.sqlite") + "-shm")
      let store = try SQLiteStore(at: scratch.store)
      let view = try store.view()
      let last = Int(try view.value(rows, [0])?.first ?? 0)
      #expect(
        try contents(view, blobs).map { Int($0[1][0]) } == Array(1..<(last + 1)),
        "seed \(seed) round \(round)")
      view.close()
      #expect(try findings(store) == [])
      try store.close()
    }
  }

  @Test("After kill -9 every acknowledged commit is there")
  func kill() async throws {
    let path = scratch.store
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let store = try SQLiteStore(at: path)
      for n in 1...500 {
        var batch = Batch()
        batch.put(rows, [0], key(n))
        batch.put(blobs, key(n), Bytes(repeating: 1, count: n))
        _ = try store.apply(batch, n % 50 == 0 ? .power : n % 2 == 0 ? .process : .relaxed)
      }
      let view = try store.view()
      // In the middle of a read, too.
      try view.walk(blobs, .atOrAfter([])) { _, _ in
        raise(SIGKILL)
        return .stop
      }
    }
    let store = try SQLiteStore(at: path)
    let view = try store.view()
    #expect(try view.value(rows, [0]) == key(500))
    #expect(try contents(view, blobs).count == 500)
    #expect(try findings(store) == [])
  }
}
