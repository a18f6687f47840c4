import ConiferKeyValue
import ConiferLeafStore
import ConiferQuery
import ConiferSQLite
import ConiferServer
import ConiferTree
import Logging
import TestSupport
import Testing

@testable import Conifer
@testable import ConiferStorage

/// What an app may ask about what is kept on the device.
@Suite struct `Questions about the storage` {
  private let server = Server()

  private func database(
    _ store: Store, _ scratch: Scratch, _ change: (inout DatabaseConfiguration) -> Void = { _ in }
  ) -> Database {
    var configuration = DatabaseConfiguration(
      namespace: "test", storage: store.configuration(at: scratch.path + "/store"),
      transport: server.transport())
    configuration.logger.logLevel = .critical
    change(&configuration)
    return Database(configuration)
  }

  /// Rooms of messages, of which two were listened to.
  private func filled(_ database: Database) async throws {
    let rooms = (0..<4).map { room in
      let messages = (0..<300).map { number in
        (
          Key("m\(number)"),
          ["text": Node(.string("message \(number)")), "n": Node(.integer(Int64(number)))] as Node
        )
      }
      return (Key("r\(room)"), Node(children: messages))
    }
    server.set(.root, ["rooms": Node(children: rooms)], in: "test")
    for room in ["rooms/r0", "rooms/r1"] {
      let reference = database.reference(withPath: room)
      _ = try await reference.observeSingleEvent(of: .value)
    }
  }

  private func code<R>(
    _ body: () async throws(DatabaseError) -> R
  ) async -> DatabaseError.Code? {
    do throws(DatabaseError) {
      _ = try await body()
      return nil
    } catch { return error.code }
  }

  @Test(arguments: Store.allCases)
  func `tell what is kept, why, and when it goes`(store: Store) async throws {
    let scratch = try Scratch()
    let database = database(store, scratch) { $0.options.budget = 4 << 20 }
    try await filled(database)
    let room = database.reference(withPath: "rooms/r0")
    room.keepSynced(true)
    let receipt = room.child("m5/text").enqueue(.set("new"))
    _ = try await receipt.outcome

    let query = room.queryOrdered(byChild: "n").queryLimited(toLast: 3)
    let explained = try await database.explain(query)
    #expect(explained.isComplete && explained.lookup.children == 3)
    #expect(explained.lookup.plan == .node && explained.lookup.hint != nil)
    #expect(explained.description.hasPrefix("complete; whole node"))
    let other = database.reference(withPath: "rooms/r3")
    #expect(try await !database.explain(other).isComplete)
    #expect(try await database.verify().isSound)
    #expect(try await database.incidents().incidents.isEmpty)

    // The journal evicts as the others do.
    let space = try await database.space()
    #expect(space.cache > 0 && space.budget == 4 << 20 && !space.isOverBudget)
    let kept = try await database.space(at: room)
    #expect(kept.leaves == 600 && kept.pinned == kept.bytes && kept.fate == .stays)
    #expect(try await database.space(at: other).fate == .absent)
    let second = database.reference(withPath: "rooms/r1")
    let plan = try await database.evict(to: 0, dryRun: true)
    #expect(plan.isDryRun && plan.queries.contains { $0.path == second.path })
    #expect(try await database.space(at: second).leaves == 600)
    let report = try await database.evict(to: 0)
    #expect(report.queries.map(\.path).contains(second.path))
    #expect(try await database.space(at: second).fate == .absent)
    #expect(try await database.space(at: room).leaves == 600)
    #expect(try await database.verify().isSound)
    await database.close()
  }

  @Test func `are refused for what is invalid, and once it is closed`() async throws {
    let scratch = try Scratch()
    let database = database(.sqlite, scratch)
    let bad = database.reference(withPath: "a").child("b#c")
    #expect(await code { () throws(DatabaseError) in try await database.space(at: bad) } != nil)
    let unordered = database.reference().queryStarting(atValue: 1).queryStarting(atValue: 2)
    #expect(await code { () throws(DatabaseError) in try await database.explain(unordered) } != nil)
    #expect(
      await code { () throws(DatabaseError) in try await database.evict(to: -1) }
        == .storageFailure)
    await database.close()
    #expect(await code { () throws(DatabaseError) in try await database.space() } == .closed)
    #expect(await code { () throws(DatabaseError) in try await database.verify() } == .closed)
    #expect(await code { () throws(DatabaseError) in try await database.incidents() } == .closed)
  }

  @Test func `are hardly needed for an index that lacks: the log tells of it, once`() async throws {
    let scratch = try Scratch()
    let notes = Gathered<String>()
    let database = database(.sqlite, scratch) {
      $0.logger = Logger(label: "test") { _ in NotingLogHandler(notes: notes) }
    }
    try await filled(database)
    database.goOffline()
    let room = database.reference(withPath: "rooms/r0")
    for count in 1...3 as ClosedRange<UInt> {
      let query = room.queryOrdered(byChild: "n").queryLimited(toLast: count)
      #expect(try await query.getData().childrenCount == count)
    }
    // Most of what is read is found: an index would spare little.
    let most = database.reference(withPath: "rooms/r1").queryOrdered(byChild: "n")
    #expect(try await most.queryLimited(toLast: 250).getData().childrenCount == 250)
    let told = notes.take().filter { $0.contains("an index would spare that") }
    #expect(told.count == 1, "\(told)")
    await database.close()
  }

  @Test func `name an index once, then its pattern, and no more than 100`()
    throws
  {
    var advice = IndexAdvice()
    func named(_ path: Path, _ index: QueryIndex = .child("n")) throws -> Path? {
      advice.add(try IndexDefinition(path, by: index))?.pattern
    }
    #expect(try named("rooms/r0") == "rooms/r0")
    #expect(try named("rooms/r0") == nil)
    #expect(try named("rooms/r1") == "rooms/$key")
    #expect(try named("rooms/r2") == nil)
    #expect(try named("rooms/r2", .value) == "rooms/r2")
    #expect(try named("users/u/posts") == "users/u/posts")
    #expect(try named("users/v/posts") == "users/$key/posts")
    #expect(try named("users/v/likes") == "users/$key/$key2")
    #expect(try named("halls") == "halls")
    #expect(try named("posts") == "posts")
    let more = try (0..<1000).compactMap { try named(Path("k\($0)")) }
    #expect(more.count == 92)
  }

  /// What is asked ends in no other way until the database is resumed.
  @Test func `wait while the database is suspended`() async throws {
    let scratch = try Scratch()
    let database = database(.sqlite, scratch)
    try await filled(database)
    let room = database.reference(withPath: "rooms/r0")
    try await database.suspend()
    let ended = Gathered<Bool>()
    let asking = Task {
      defer { ended.add(true) }
      return try await database.space(at: room).leaves
    }
    // Long enough for an answer that does not wait.
    for _ in 0..<1000 { await Task.yield() }
    #expect(ended.all.isEmpty)
    let cancelled = Task { try await database.verify() }
    cancelled.cancel()
    await #expect { try await cancelled.value } throws: {
      ($0 as? DatabaseError)?.code == .cancelled
    }
    try await database.resume()
    #expect(try await asking.value == 600)
    await database.close()
  }

  /// It was told what the server has, and what waits.
  @Test func `leave what is listened to, and waiting writes`() async throws {
    let scratch = try Scratch()
    let database = database(.sqlite, scratch)
    try await filled(database)
    let heard = database.reference(withPath: "rooms/r0")
    let written = database.reference(withPath: "rooms/r1")
    let handle = heard.observe(.value) { _ in }
    _ = try await heard.observeSingleEvent(of: .value)
    database.goOffline()
    _ = try await written.child("m1/text").enqueue(.set("waits")).durable
    let report = try await database.evict(to: 0)
    #expect(report.queries.map(\.path) == [written.path])
    #expect(try await database.space(at: heard).fate == .stays)
    #expect(try await database.space(at: heard).leaves == 600)
    #expect(try await database.space(at: written).pendingWrites == 1)
    #expect(try await database.pendingWrites().count == 1)
    heard.removeObserver(withHandle: handle)
    await database.close()
  }

  @Test func `tell of damage`() async throws {
    let scratch = try Scratch()
    let first = database(.sqlite, scratch) { $0.transport = nil }
    _ = try await first.reference(withPath: "a").enqueue(.set(1)).durable
    await first.close()
    let store = try SQLiteStore(at: scratch.path + "/store")
    let view = try store.view()
    var batch = Batch()
    try view.walk(Spaces.queue, .atOrAfter([])) { key, value in
      var bytes = Bytes(value)
      if let last = bytes.indices.last { bytes[last] ^= 1 }
      batch.put(Spaces.queue, Bytes(key), bytes)
      return .next
    }
    view.close()
    _ = try store.apply(batch, .power)
    try store.close()

    let database = database(.sqlite, scratch) { $0.transport = nil }
    #expect(try await !database.verify().isSound)
    #expect(try await database.pendingWrites().isEmpty)
    #expect(try await database.incidents().incidents.map(\.kind) == [.writeSetAside])
    #expect(try await database.verify().isSound)
    await database.close()
  }
}
