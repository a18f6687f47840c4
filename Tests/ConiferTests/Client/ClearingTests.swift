import ConiferKeyValue
import ConiferServer
import ConiferStorage
import ConiferTree
import Logging
import TestSupport
import Testing

@testable import Conifer

/// What the cache forgets when it is told to, and what it keeps.
@Suite struct `Clearing the cache at a place` {
  private let server = Server()

  private func database(_ store: Store, _ scratch: Scratch) -> Database {
    var configuration = DatabaseConfiguration(
      namespace: "test", storage: store.configuration(at: scratch.path + "/store"),
      transport: server.transport())
    configuration.logger.logLevel = .critical
    return Database(configuration)
  }

  /// Three rooms of messages, of which some are large, that were all listened to once.
  private func filled(_ database: Database, reading rooms: [String]) async throws {
    let messages = (0..<30).map { number in
      let text = String(repeating: "\(number) ", count: number == 7 ? 40_000 : 4)
      let node: Node = ["text": Node(.string(text)), "n": Node(.integer(Int64(number)))]
      return (Key("m\(number)"), node)
    }
    let room = Node(children: messages)
    server.set(.root, ["rooms": ["r0": room, "r1": room, "r10": room]], in: "test")
    for room in rooms {
      _ = try await database.reference(withPath: room).observeSingleEvent(of: .value)
    }
  }

  private func code(_ body: () async throws(DatabaseError) -> Void) async -> DatabaseError.Code? {
    do throws(DatabaseError) {
      try await body()
      return nil
    } catch { return error.code }
  }

  /// How many children an offline read gives; nil where the cache has not all.
  private func cached(_ query: DatabaseQuery) async throws -> UInt? {
    do throws(DatabaseError) {
      return try await query.getData().childrenCount
    } catch {
      guard error.code == .disconnected else { throw error }
      return nil
    }
  }

  @Test(arguments: Store.allCases)
  func `forgets all there, and nothing beside it`(store: Store) async throws {
    let scratch = try Scratch()
    var database = database(store, scratch)
    try await filled(database, reading: ["rooms/r0", "rooms/r0/m3", "rooms/r1", "rooms/r10"])
    let before = try await database.space(at: database.reference(withPath: "rooms/r0"))
    #expect(before.leaves == 60)
    try await database.clear(at: database.reference(withPath: "rooms/r0"))
    database.goOffline()
    for isAgain in [false, true] {
      if isAgain {
        // What is in memory ends with the database.
        guard Store.durable.contains(store) else { break }
        await database.close()
        database = self.database(store, scratch)
        database.goOffline()
      }
      let room = database.reference(withPath: "rooms/r0")
      #expect(try await database.space(at: room).fate == .absent)
      #expect(try await cached(room) == nil)
      #expect(try await cached(room.child("m3")) == nil)
      #expect(try await !database.explain(room).isComplete)
      #expect(try await cached(database.reference(withPath: "rooms/r1")) == 30)
      #expect(try await cached(database.reference(withPath: "rooms/r10")) == 30)
      #expect(try await database.verify().isSound)
    }
    let room = database.reference(withPath: "rooms/r0")
    database.goOnline()
    #expect(try await room.observeSingleEvent(of: .value).childrenCount == 30)
    database.goOffline()
    #expect(try await cached(room) == 30)
    await database.close()
  }

  @Test(arguments: Store.allCases)
  func `makes incomplete what held some of it above`(store: Store) async throws {
    let scratch = try Scratch()
    let database = database(store, scratch)
    try await filled(database, reading: ["rooms"])
    let room = database.reference(withPath: "rooms/r1")
    let last = room.queryOrdered(byChild: "n").queryLimited(toLast: 3)
    let first = room.queryOrdered(byChild: "n").queryLimited(toFirst: 3)
    // Queries of their own, which the whole above does not answer.
    try await database.clear(at: database.reference(withPath: "rooms/r1"))
    let halls = database.reference(withPath: "halls")
    for query in [last, first, halls] { _ = try await query.observeSingleEvent(of: .value) }
    database.goOffline()
    #expect(try await cached(last) == 3)
    #expect(try await cached(first) == 3)
    try await database.clear(at: room.child("m29/text"))
    #expect(try await cached(last) == nil)
    #expect(try await cached(first) == 3)
    #expect(try await cached(database.reference(withPath: "rooms")) == nil)
    // Nothing is there, and that was known.
    #expect(try await cached(halls) == 0)
    try await database.clear(at: halls.child("h1"))
    #expect(try await cached(halls) == nil)
    #expect(try await database.verify().isSound)
    await database.close()
  }

  @Test(arguments: Store.allCases)
  func `is refused while something has any of it, and forgets nothing then`(
    store: Store
  ) async throws {
    let scratch = try Scratch()
    let database = database(store, scratch)
    try await filled(database, reading: ["rooms/r0", "rooms/r1"])
    let room = database.reference(withPath: "rooms/r0")
    let last = room.queryOrdered(byChild: "n").queryLimited(toLast: 3)
    func refusal(_ path: String) async -> DatabaseError.Code? {
      await code { () throws(DatabaseError) in
        try await database.clear(at: database.reference(withPath: path))
      }
    }
    for query in [room, room.child("m1"), database.reference(withPath: "rooms"), last] {
      let handle = query.observe(.value) { _ in }
      #expect(await refusal("rooms/r0") == .inUse, "\(query)")
      #expect(try await database.space(at: room).leaves == 60)
      if query === last {
        // The window holds three of the messages.
        #expect(await refusal("rooms/r0/m28/n") == .inUse)
        #expect(await refusal("rooms/r0/m2") == nil)
        #expect(await refusal("rooms/r1") == nil)
      }
      query.removeObserver(withHandle: handle)
    }
    for query in [room, room.child("m1"), database.reference(withPath: "rooms"), last] {
      query.keepSynced(true)
      #expect(await refusal("rooms/r0/m1") == .inUse, "\(query)")
      query.keepSynced(false)
    }
    #expect(await refusal("rooms/r0") == nil)
    #expect(try await database.space(at: room).leaves == 0)
    await database.close()
  }

  /// No connection was made, so that nothing is listened to yet.
  @Test(arguments: Store.durable)
  func `is refused for what an earlier run kept synced`(store: Store) async throws {
    let scratch = try Scratch()
    let first = database(store, scratch)
    try await filled(first, reading: ["rooms/r0"])
    first.reference(withPath: "rooms/r0").keepSynced(true)
    await first.close()
    let database = database(store, scratch)
    database.goOffline()
    let room = database.reference(withPath: "rooms/r0")
    for place in [room, room.child("m1"), database.reference()] {
      #expect(
        await code { () throws(DatabaseError) in try await database.clear(at: place) } == .inUse)
    }
    #expect(try await database.space(at: room).leaves == 60)
    room.keepSynced(false)
    try await database.clear(at: database.reference())
    #expect(try await database.space(at: room).fate == .absent)
    await database.close()
  }

  @Test(arguments: Store.allCases)
  func `leaves waiting writes, which show and are sent`(store: Store) async throws {
    let scratch = try Scratch()
    let database = database(store, scratch)
    try await filled(database, reading: ["rooms/r0"])
    database.goOffline()
    let message = database.reference(withPath: "rooms/r0/m1")
    let receipt = message.child("text").enqueue(.set("waits"))
    _ = try await receipt.durable
    // Its base is forgotten: nobody knows what it adds to.
    let count = message.child("n").enqueue(.set(ServerValue.increment(5)))
    _ = try await count.durable
    try await database.clear(at: database.reference(withPath: "rooms"))
    #expect(try await database.pendingWrites().count == 2)
    #expect(try await message.child("text").getData().value as? String == "waits")
    #expect(try await cached(message) == nil)
    database.goOnline()
    try await receipt.acknowledged()
    try await count.acknowledged()
    #expect(server.data("rooms/r0/m1/text", in: "test") == Node(.string("waits")))
    #expect(server.data("rooms/r0/m1/n", in: "test") == Node(.integer(6)))
    #expect(try await database.verify().isSound)
    await database.close()
  }

  @Test func `is refused for what is invalid, and waits while the database is suspended`()
    async throws
  {
    let scratch = try Scratch()
    let (database, other) = (database(.sqlite, scratch), database(.memory, scratch))
    try await filled(database, reading: ["rooms/r0"])
    func refusal(_ place: DatabaseReference) async -> DatabaseError.Code? {
      await code { () throws(DatabaseError) in try await database.clear(at: place) }
    }
    #expect(await refusal(database.reference(withPath: "a").child("b#c")) == .invalidPath)
    #expect(await refusal(database.reference(withPath: ".info/connected")) == .readOnly)
    #expect(await refusal(other.reference(withPath: "rooms")) == .invalidURL)
    let room = database.reference(withPath: "rooms/r0")
    try await database.suspend()
    async let cleared: Void = database.clear(at: room)
    try await database.resume()
    try await cleared
    #expect(try await database.space(at: room).fate == .absent)
    await database.close()
    #expect(await refusal(room) == .closed)
    await other.close()
  }
}
