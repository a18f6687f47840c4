import CSQLite
import ConiferKeyValue
import ConiferStorage
import Synchronization
import TestSupport
import Testing

@testable import ConiferSQLite

private final class Counter: Sendable {
  let value = Atomic(0)
}

@Suite("SQLite store")
struct SQLiteStoreTests {
  let scratch: Scratch
  init() throws { scratch = try Scratch() }

  @Test("Random batches leave it equal to the memory store, also after reopening")
  func model() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    let model = MemoryStore()
    var store = try SQLiteStore(at: scratch.store)
    func randomKey() -> Bytes {
      Bytes(
        (0..<Int.random(in: 0...3, using: &random)).map { _ in
          [0, 1, 7, 127, 128, 255].randomElement(using: &random) ?? 0
        })
    }
    for round in 0..<300 {
      var batch = Batch()
      for _ in 0..<Int.random(in: 0..<12, using: &random) {
        let space = spaces.randomElement(using: &random) ?? rows
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<6:
          let size = [0, 1, 20, 900, 5_000, 40_000].randomElement(using: &random) ?? 0
          batch.put(space, randomKey(), Bytes(repeating: UInt8(round & 0xff), count: size))
        case 6..<9: batch.delete(space, randomKey())
        default: batch.clear(space, from: randomKey(), to: randomKey())
        }
      }
      _ = try model.apply(batch, .relaxed)
      _ = try store.apply(batch, Durability.allCases.randomElement(using: &random) ?? .power)
      if round % 97 == 96 {
        try store.close()
        store = try SQLiteStore(at: scratch.store)
      }
      if round % 31 == 30 { _ = try store.tidy(.milliseconds(1)) }
      guard round % 10 == 9 else { continue }
      let (real, ideal) = (try store.view(), try model.view())
      for space in spaces {
        for descending in [false, true] {
          let found = try contents(real, space, descending: descending)
          let wanted = try contents(ideal, space, descending: descending)
          #expect(found == wanted, "seed \(seed) round \(round)")
        }
        for origin in [Origin.atOrAfter(randomKey()), .atOrBefore(randomKey())] {
          let targets = (0..<8).map { _ in randomKey() }
          func jumps(_ view: any OrderedView) throws -> [Bytes] {
            var found: [Bytes] = []
            try view.walk(space, origin) { key, _ in
              found.append(Bytes(key))
              return found.count < targets.count ? .jump(targets[found.count]) : .next
            }
            return found
          }
          #expect(try jumps(real) == jumps(ideal), "seed \(seed) round \(round)")
        }
      }
    }
    #expect(try findings(store) == [])
  }

  @Test("Rows under a shape that is not their space's are in the table of the space")
  func shapes() throws {
    var store = try SQLiteStore(at: scratch.store)
    let (right, wrong) = (Space(id: 9, shape: .blobs), Space(id: 9, shape: .rows))
    try store.put(right, [1], [1])
    let old = try store.view()
    for _ in 1...2 {
      try store.close()
      store = try SQLiteStore(at: scratch.store)
      try store.put(wrong, [2], [2])
      #expect(try contents(store.view(), wrong) == contents(store.view(), right))
      try store.suspend()
      try store.resume()
      #expect(try contents(store.view(), wrong) == [[[1], [1]], [[2], [2]]])
      #expect(try contents(store.view(), right) == [[[1], [1]], [[2], [2]]])
    }
    old.close()
    var batch = Batch()
    batch.clear(wrong, from: [], to: [9])
    _ = try store.apply(batch, .process)
    #expect(try contents(store.view(), right) == [])
    try store.close()
    let database = try Connection(
      scratch.store + "/conifer.sqlite", flags: SQLITE_OPEN_READWRITE, vfs: nil)
    #expect(try database.integer("SELECT COUNT(*) FROM rows") == 0)
    database.close()
  }

  @Test("A view stays at its commit, may be read inside a read, and ends with the store")
  func views() throws {
    let store = try SQLiteStore(at: scratch.store)
    for space in spaces { try store.put(space, [1], [1]) }
    let old = try store.view()
    for space in spaces { try store.put(space, [1], [2]) }
    var batch = Batch()
    for space in spaces { batch.clear(space, from: [], to: [9]) }
    let now = try store.view()
    _ = try store.apply(batch, .power)
    for space in spaces {
      #expect(try old.value(space, [1]) == [1])
      #expect(try now.value(space, [1]) == [2])
      #expect(try store.view().value(space, [1]) == nil)
    }
    var inner: Bytes?
    try old.walk(rows, .atOrAfter([])) { key, _ in
      inner = try? old.value(rows, Bytes(key))
      return .stop
    }
    #expect(inner == [1])
    old.close()
    old.close()
    #expect(code { () throws(StoreError) in _ = try old.value(rows, [1]) } == .closed)
    var closedInside: StoreError.Code?
    try store.put(rows, [5], [5])
    try store.put(rows, [6], [6])
    let last = try store.view()
    closedInside = code { () throws(StoreError) in
      try last.walk(rows, .atOrAfter([])) { _, _ in
        last.close()
        return .next
      }
    }
    #expect(closedInside == .closed)
    try store.close()
    #expect(code { () throws(StoreError) in _ = try now.value(rows, [1]) } == .closed)
    #expect(code { () throws(StoreError) in _ = try store.view() } == .closed)
    #expect(code { () throws(StoreError) in _ = try store.size() } == .closed)
    try store.close()
  }

  @Test("More views than allowed are refused with full, and closing one makes room")
  func viewLimit() throws {
    var options = SQLiteOptions()
    options.viewsAtMost = 3
    let store = try SQLiteStore(at: scratch.store, options)
    var views = [try store.view(), try store.view(), try store.view()]
    #expect(code { () throws(StoreError) in _ = try store.view() } == .full)
    _ = try store.size()
    views.removeLast()
    _ = try store.view()
  }

  @Test("Threads read views while commits go on and while the store is closed")
  func threads() async throws {
    let store = try SQLiteStore(at: scratch.store)
    let fill: @Sendable (UInt8) throws -> Void = { round in
      var batch = Batch()
      for n in 0..<200 { batch.put(n % 2 == 0 ? rows : blobs, key(n), [round]) }
      _ = try store.apply(batch, .process)
    }
    try fill(0)
    let reads = Counter()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask {
          do throws(StoreError) {
            while true {
              let view = try store.view()
              var seen = Set<Bytes>()
              var count = 0
              for space in [rows, blobs] {
                try view.walk(space, .atOrAfter([])) { _, value in
                  seen.insert(Bytes(value))
                  count += 1
                  return .next
                }
              }
              #expect(seen.count == 1 && count == 200)
              reads.value.add(1, ordering: .relaxed)
              view.close()
              await Task.yield()
            }
          } catch {
            #expect(error.code == .closed, "\(error)")
          }
        }
      }
      group.addTask {
        do {
          for round in UInt8(1)...100 { try fill(round) }
          while reads.value.load(ordering: .relaxed) < 10 { await Task.yield() }
          try store.close()
        } catch { Issue.record(error) }
      }
    }
    let again = try SQLiteStore(at: scratch.store)
    #expect(try again.view().value(rows, key(0)) == [100])
    #expect(try findings(again) == [])
  }

  @Test("Values of 10 MiB, long keys and a batch of 100,000 edits pass; a longer key is refused")
  func large() throws {
    let store = try SQLiteStore(at: scratch.store)
    var batch = Batch()
    for n in 0..<100_000 { batch.put(rows, key(n), key(n)) }
    _ = try store.apply(batch, .power)
    var big = Bytes(repeating: 3, count: 10 << 20)
    for n in stride(from: 0, to: big.count, by: 4_001) { big[n] = UInt8(n & 0xff) }
    let longKey = Bytes(repeating: 200, count: store.traits.longestKey)
    for space in spaces {
      try store.put(space, [9], big)
      try store.put(space, longKey, [1])
    }
    let view = try store.view()
    for space in spaces {
      let matches = try view.value(space, [9]) == big
      #expect(matches)
      #expect(try view.value(space, longKey) == [1])
    }
    #expect(try contents(view, rows).count == 100_002)
    let refused = code { () throws(StoreError) in
      try store.put(rows, longKey + [1], [1])
    }
    #expect(refused == .tooLarge)
  }

  @Test("The log stays short when a moment without views comes now and then")
  func logIsBounded() throws {
    let store = try SQLiteStore(at: scratch.store)
    let log = (scratch.store + "/conifer.sqlite") + "-wal"
    func write(_ n: Int) throws {
      // About five pages a commit: 30 MB of log in all if it never began anew.
      try store.put(blobs, key(n % 50), Bytes(repeating: UInt8(n & 0xff), count: 16_000))
    }
    var held = try store.view()
    for n in 0..<1_500 {
      try write(n)
      if n % 100 == 99 {
        held.close()
        try write(n + 1)
      }
      let next = try store.view()
      held.close()
      held = next
    }
    #expect(Scratch.length(log) < 10 << 20)
    // A view that is held makes it grow, which the README says; afterwards it is cut.
    for n in 0..<1_500 { try write(n * 3) }
    #expect(Scratch.length(log) > 20 << 20)
    #expect(try !store.tidy(.seconds(10)))
    held.close()
    #expect(try !store.tidy(.seconds(10)))
    #expect(Scratch.length(log) == 0)
  }

  @Test("Tidy gives deleted space back in slices, and size tells live from free")
  func tidy() throws {
    let store = try SQLiteStore(at: scratch.store)
    for n in 0..<1_000 { try store.put(blobs, key(n), Bytes(repeating: 7, count: 16_000)) }
    let before = try store.size()
    #expect(before.live > 16_000_000 && before.file >= before.live)
    var batch = Batch()
    batch.clear(blobs, from: [], to: key(990))
    _ = try store.apply(batch, .process)
    let cleared = try store.size()
    #expect(cleared.live < 500_000 && cleared.free > 15_000_000)
    var slices = 1
    while try store.tidy(.zero) { slices += 1 }
    #expect(slices > 3)
    let after = try store.size()
    #expect(after.free == 0)
    #expect(Scratch.length((scratch.store + "/conifer.sqlite")) == after.live)
    #expect(try contents(store.view(), blobs).count == 10)
    #expect(try findings(store) == [])
  }

  @Test("Writing what is there already adds no page to the log", arguments: spaces)
  func equalWrites(_ space: Space) throws {
    let store = try SQLiteStore(at: scratch.store)
    for n in 0..<100 { try store.put(space, key(n), Bytes(repeating: 5, count: 700)) }
    let length = Scratch.length((scratch.store + "/conifer.sqlite") + "-wal")
    for n in 0..<100 { try store.put(space, key(n), Bytes(repeating: 5, count: 700), .power) }
    #expect(Scratch.length((scratch.store + "/conifer.sqlite") + "-wal") == length)
    try store.put(space, key(7), Bytes(repeating: 6, count: 700))
    #expect(Scratch.length((scratch.store + "/conifer.sqlite") + "-wal") > length)
  }

  @Test("Suspending lets go of the files, resuming takes them back with all data")
  func suspend() throws {
    let store = try SQLiteStore(at: scratch.store)
    let first = try store.put(rows, [1], [1])
    let view = try store.view()
    try store.suspend()
    try store.suspend()
    #expect(code { () throws(StoreError) in _ = try view.value(rows, [1]) } == .closed)
    #expect(code { () throws(StoreError) in try store.put(rows, [1], [2]) } == .suspended)
    #expect(code { () throws(StoreError) in _ = try store.view() } == .suspended)
    #expect(code { () throws(StoreError) in try store.harden(first) } == .suspended)
    let other = try SQLiteStore(at: scratch.store)
    try other.put(rows, [2], [2])
    #expect(code { () throws(StoreError) in try store.resume() } == .busy)
    try other.close()
    try store.resume()
    try store.resume()
    #expect(try store.view().value(rows, [2]) == [2])
    #expect(try store.put(rows, [3], [3]) > first)
    try store.suspend()
    try store.close()
    #expect(code { () throws(StoreError) in try store.resume() } == .closed)
  }

  @Test("Walks and gets search by index and never sort")
  func plans() throws {
    let store = try SQLiteStore(at: scratch.store)
    let file = DatabaseFile(directory: scratch.store, options: SQLiteOptions())
    let connection = try file.openReader()
    for query in Reader.Query.allCases {
      for table in Table.allCases {
        let statement = try Statement(
          connection, "EXPLAIN QUERY PLAN " + query.sql(table))
        #expect(statement.step() == 100)
        let plan = statement.text(3)
        #expect(plan.hasPrefix("SEARCH \(table) USING"), "\(plan)")
        #expect(statement.step() == 101, "more than one step")
        statement.finish()
      }
    }
    connection.close()
    try store.close()
  }
}
