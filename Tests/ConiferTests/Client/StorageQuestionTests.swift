import ConiferKeyValue
import ConiferServer
import ConiferStorage
import ConiferTree
import Logging
import TestSupport
import Testing

@testable import Conifer

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
    #expect(try await database.incidents().isEmpty)

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
    let told = notes.take().filter { $0.contains("an index would spare that") }
    #expect(told.count == 1, "\(told)")
    await database.close()
  }

  @Test func `wait while the database is suspended`() async throws {
    let scratch = try Scratch()
    let database = database(.sqlite, scratch)
    try await filled(database)
    try await database.suspend()
    async let space = database.space(at: database.reference(withPath: "rooms/r0"))
    try await database.resume()
    #expect(try await space.leaves == 600)
    await database.close()
  }
}
