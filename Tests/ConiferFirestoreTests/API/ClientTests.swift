import ConiferDocument
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ConiferFirestore

@Suite("The database over the real engine")
struct ClientTests {
  /// Has a block's answer, once all is done.
  private func answer<Value: Sendable>(
    _ world: ClientWorld, _ call: (@escaping (Value?, (any Error)?) -> Void) -> Void
  ) async -> Told<Value> {
    let told = Told<Value>()
    call(told.add)
    await world.waitUntilIdle()
    return told
  }

  @Test("Offline, writes show at once, and gets give what is here", arguments: EngineStore.allCases)
  func offline(store: EngineStore) async throws {
    let world = try ClientWorld(store, isOnline: false)
    let rooms = world.firestore.collection("rooms")
    let told = Told<QuerySnapshot>()
    rooms.order(by: "size").addSnapshotListener(told.add)
    rooms.document("eros").enqueue(.set(["name": "Eros", "size": 3]))
    rooms.document("zeus").enqueue(.set(["name": "Zeus", "size": FieldValue.increment(1)]))
    rooms.document("eros").enqueue(.update(["size": FieldValue.increment(2), "tags": ["a"]]))
    rooms.document("none").enqueue(.update(["size": 9]))
    await world.waitUntilIdle()
    let last = try #require(told.values.last)
    #expect(last.documents.map(\.documentID) == ["zeus", "eros"])
    #expect(last.documents[1].get("size") as? Int == 5)
    #expect(last.metadata.isFromCache && last.metadata.hasPendingWrites)
    #expect(!last.metadata.wasEverComplete)
    let eros = try await rooms.document("eros").getDocument()
    #expect(eros.data()?["name"] as? String == "Eros")
    #expect(eros.metadata.isFromCache && eros.metadata.hasPendingWrites)
    let found = try await rooms.whereField("tags", arrayContains: "a").getDocuments()
    #expect(found.documents.map(\.documentID) == ["eros"])
    try await world.end()
  }

  @Test(
    "Where a get looks, and what it gives while the server cannot be reached",
    arguments: EngineStore.allCases)
  func sources(store: EngineStore) async throws {
    let world = try ClientWorld(store, isOnline: false)
    let rooms = world.firestore.collection("rooms")
    rooms.document("eros").enqueue(.set(["size": 3]))
    rooms.document("gone").enqueue(.delete)
    for source in [FirestoreSource.default, .server, .cache] {
      let eros = await answer(world) {
        rooms.document("eros").getDocument(source: source, completion: $0)
      }
      let gone = await answer(world) {
        rooms.document("gone").getDocument(source: source, completion: $0)
      }
      let unseen = await answer(world) {
        rooms.document("unseen").getDocument(source: source, completion: $0)
      }
      let query = await answer(world) { rooms.getDocuments(source: source, completion: $0) }
      let empty = await answer(world) {
        world.firestore.collection("other").getDocuments(source: source, completion: $0)
      }
      #expect(unseen.codes == [.unavailable], "\(source)")
      if source == .server {
        #expect(eros.codes == [.unavailable] && gone.codes == [.unavailable])
        #expect(query.codes == [.unavailable] && empty.codes == [.unavailable])
        continue
      }
      #expect(eros.values.first?.get("size") as? Int == 3, "\(source)")
      #expect(query.values.first?.documents.map(\.documentID) == ["eros"], "\(source)")
      #expect(empty.values.first?.isEmpty == true, "\(source)")
      #expect(empty.values.first?.metadata.isFromCache == true, "\(source)")
      // As on Apple, the default source does not take the cache's word that there is nothing.
      #expect(gone.codes == (source == .cache ? [] : [.unavailable]), "\(source)")
      #expect(gone.values.map(\.presence) == (source == .cache ? [.missing] : []), "\(source)")
    }
    try await world.end()
  }

  @Test(
    "Writes outlive the app and can be listed, followed and given up",
    arguments: EngineStore.durable)
  func pendingWrites(store: EngineStore) async throws {
    let world = try ClientWorld(store, isOnline: false)
    let eros = world.firestore.document("rooms/eros")
    let receipt = eros.enqueue(
      .set(["size": 3, "at": FieldValue.serverTimestamp(), "map": ["a": 1]]))
    let batch = world.firestore.batch()
      .updateData(
        ["map.a": FieldValue.delete(), "tags": FieldValue.arrayUnion(["x"])], forDocument: eros
      )
      .deleteDocument(world.firestore.document("rooms/zeus")).enqueue()
    let (first, second) = (try #require(try await receipt.id), try #require(try await batch.id))
    try await world.restart()
    let firestore = world.firestore
    let pending = try await firestore.pendingWrites()
    #expect(pending.map(\.id) == [first, second])
    #expect(pending[0].changes[0].kind == .set && pending[0].attempts == 0)
    #expect(pending[0].changes[0].document == firestore.document("rooms/eros"))
    let values = pending[0].changes[0].values
    #expect(values[FieldPath(["size"])] as? Int == 3)
    #expect(values[FieldPath(["at"])] as? FieldValue == .serverTimestamp())
    #expect(pending[1].changes.map(\.kind) == [.update, .delete])
    let update = pending[1].changes[0].values
    #expect(update[FieldPath(["map", "a"])] as? FieldValue == .delete())
    #expect(update[FieldPath(["tags"])] as? FieldValue == .arrayUnion(["x"]))
    #expect(pending[0].written.seconds == 1_700_001_000)
    #expect(try await firestore.pendingWrites(after: first, limit: 1).map(\.id) == [second])
    try await firestore.discard(second)
    #expect(try await firestore.outcome(of: second) == .discarded)
    let shown = try await firestore.document("rooms/eros").getDocument(source: .cache)
    #expect((shown.get("map.a") as? Int) == 1)
    await #expect(throws: FirestoreError.self) { try await firestore.discard(second) }
    try await world.end()
  }

  @Test(
    "A refused write is told, kept with its reason, and tried again",
    arguments: EngineStore.allCases)
  func refusals(store: EngineStore) async throws {
    let world = try ClientWorld(store)
    let eros = world.firestore.document("rooms/eros")
    let ends = Ends()
    eros.updateData(["size": 3], completion: ends.add)
    await world.waitUntilIdle()
    world.server.refuse(.notFound)
    await world.waitUntilIdle()
    #expect(ends.all == [.notFound])
    let refused = try await world.firestore.rejectedWrites()
    guard case .rejected(let error)? = refused.first?.state else {
      Issue.record("Nothing was refused.")
      return
    }
    #expect(error.code == .notFound && error.message == "No.")
    #expect(refused.count == 1 && refused[0].changes[0].kind == .update)
    try await world.firestore.retry(refused[0].id)
    await world.waitUntilIdle()
    #expect(world.server.sent.count == 1)
    try world.server.accept(at: 1000)
    await world.waitUntilIdle()
    #expect(try await world.firestore.pendingWrites().isEmpty)
    #expect(try await world.firestore.outcome(of: refused[0].id) == .acknowledged)
    try await world.end()
  }

  @Test("A listener sees its own write, the server's word, and that no write waits any more")
  func metadata() async throws {
    let world = try ClientWorld()
    let eros = world.firestore.document("rooms/eros")
    let (all, plain) = (Told<DocumentSnapshot>(), Told<DocumentSnapshot>())
    eros.addSnapshotListener(includeMetadataChanges: true, listener: all.add)
    eros.addSnapshotListener(plain.add)
    await world.waitUntilIdle()
    let id = try #require(world.server.targets.keys.first)
    try world.server.tell(id, [("rooms/eros", 1)], at: 1000)
    await world.waitUntilIdle()
    eros.enqueue(.set(["n": 2]))
    await world.waitUntilIdle()
    try world.server.accept(at: 2000)
    try world.server.tell("rooms/eros", 2, to: [id], version: 2000)
    world.server.say(.targets(.noChange, []), at: 2000)
    await world.waitUntilIdle()
    #expect(all.values.map { $0.get("n") as? Int } == [1, 2, 2])
    #expect(all.values.map(\.metadata.hasPendingWrites) == [false, true, false])
    #expect(all.values.map(\.metadata.isFromCache) == [false, false, false])
    #expect(plain.values.map { $0.get("n") as? Int } == [1, 2])
    #expect(all.values.last?.metadata.serverTime == Timestamp(seconds: 0, nanoseconds: 2_000_000))
    try await world.end()
  }

  @Test("Known to be gone and never seen are told apart", arguments: EngineStore.durable)
  func presence(store: EngineStore) async throws {
    let world = try ClientWorld(store)
    let told = Told<DocumentSnapshot>()
    world.firestore.document("rooms/gone").addSnapshotListener(told.add)
    await world.waitUntilIdle()
    let id = try #require(world.server.targets.keys.first)
    try world.server.tell(id, [], at: 1000)
    await world.waitUntilIdle()
    #expect(told.values.map(\.presence) == [.missing])
    try await world.restart()
    try await world.firestore.disableNetwork()
    let (gone, unseen) = (Told<DocumentSnapshot>(), Told<DocumentSnapshot>())
    world.firestore.document("rooms/gone").addSnapshotListener(gone.add)
    world.firestore.document("rooms/unseen").addSnapshotListener(unseen.add)
    await world.waitUntilIdle()
    #expect(gone.values.map(\.presence) == [.missing])
    #expect(gone.values.first?.metadata.serverTime == Timestamp(seconds: 0, nanoseconds: 1_000_000))
    #expect(unseen.values.map(\.presence) == [.unseen])
    #expect(unseen.values.first?.metadata.serverTime == nil)
    let got = try await world.firestore.document("rooms/gone").getDocument(source: .cache)
    #expect(got.presence == .missing)
    try await world.end()
  }

  @Test func `what a store in memory keeps can be removed`() async throws {
    let world = try ClientWorld(.memory, isOnline: false)
    try await world.firestore.clearPersistence()
    try await world.end()
  }

  @Test(
    "What is kept is removed before the first use and after the end, not between",
    arguments: EngineStore.durable)
  func clear(store: EngineStore) async throws {
    let world = try ClientWorld(store, isOnline: false)
    let written = try await world.firestore.document("rooms/eros").enqueue(.set(["n": 1])).id
    #expect(written != nil)
    do throws(FirestoreError) {
      try await world.firestore.clearPersistence()
      Issue.record("It was removed while it was used.")
    } catch { #expect(error.code == .failedPrecondition) }
    try await world.restart()
    #expect(try await world.firestore.pendingWrites().count == 1)
    try await world.end()
    try await world.firestore.clearPersistence()
    try await world.restart()
    #expect(try await world.firestore.pendingWrites().isEmpty)
    #expect(try await world.firestore.collection("rooms").getDocuments(source: .cache).isEmpty)
    try await world.restart()
    try await world.firestore.clearPersistence()
    world.firestore.document("rooms/eros").enqueue(.set(["n": 1]))
    #expect(try await world.firestore.collection("rooms").getDocuments(source: .cache).count == 1)
    try await world.end()
  }

  @Test("Numbers of what is here are marked so", arguments: EngineStore.allCases)
  func aggregates(store: EngineStore) async throws {
    let world = try ClientWorld(store, isOnline: false)
    let rooms = world.firestore.collection("rooms")
    for n in 1...3 { rooms.document("r\(n)").enqueue(.set(["n": n])) }
    let here = try await rooms.whereField("n", isGreaterThan: 1)
      .aggregate([.count(), .sum("n"), .average("n")]).getAggregation(source: .cache)
    #expect(here.count == 2 && here.get(.sum("n")) as? Int == 5)
    #expect(here.get(.average("n")) as? Double == 2.5)
    #expect(here.isFromCache && !here.wasEverComplete)
    let server = await answer(world) { rooms.count.getAggregation(source: .server, completion: $0) }
    #expect(server.codes == [.unavailable])
    try await world.end()
  }

  @Test("Declared indexes serve queries of the cache", arguments: EngineStore.allCases)
  func indexes(store: EngineStore) async throws {
    let world = try ClientWorld(store, isOnline: false)
    try await world.firestore.setIndexConfiguration(
      """
      {"indexes": [{"collectionGroup": "rooms", "queryScope": "COLLECTION", "fields": [
        {"fieldPath": "tags", "arrayConfig": "CONTAINS"}, {"fieldPath": "size", "order": "DESCENDING"}
      ]}], "fieldOverrides": []}
      """)
    let rooms = world.firestore.collection("rooms")
    for n in 1...3 {
      rooms.document("r\(n)").enqueue(.set(["size": n, "tags": ["t\(n)", "all"]]))
    }
    let query = rooms.whereField("tags", arrayContains: "all")
      .order(by: "size", descending: true).limit(to: 2)
    let found = try await query.getDocuments(source: .cache)
    #expect(found.documents.map(\.documentID) == ["r3", "r2"])
    let engine = try #require(try world.firestore.engine() as? FirestoreEngine)
    let plan = try await engine.ask { [query = try query.checked()] loop in
      Result { () throws(StoreError) in
        try loop.store.read { (view, lane) throws(StoreError) in
          try view.query(lane, query, tracked: nil).explanation.plan
        }
      }
    }.get()
    guard case .indexes = plan else {
      Issue.record("The index does not serve the query: \(plan)")
      return
    }
    try await world.end()
  }

  @Test("A transaction of a terminated database is not run again")
  func transactionAfterTheEnd() async throws {
    let world = try ClientWorld { $0.clock = ImmediateClock() }
    let eros = world.firestore.document("rooms/eros")
    try await world.firestore.terminate()
    let runs = Ends()
    do {
      try await world.firestore.runTransaction { transaction in
        runs.add(nil)
        transaction.setData(["n": 1], forDocument: eros)
      }
      Issue.record("It succeeded.")
    } catch { #expect((error as? FirestoreError)?.code == .failedPrecondition) }
    #expect(runs.all.count == 1)
  }

  @Test("A transaction without a way to the server fails, after its attempts")
  func offlineTransaction() async throws {
    let world = try ClientWorld(isOnline: false) { $0.clock = ImmediateClock() }
    let eros = world.firestore.document("rooms/eros")
    let runs = Ends()
    do {
      try await world.firestore.runTransaction { transaction in
        runs.add(nil)
        _ = try await transaction.getDocument(eros)
      }
      Issue.record("It succeeded.")
    } catch { #expect((error as? FirestoreError)?.code == .unavailable) }
    #expect(runs.all.count == 5)
    try await world.end()
  }

  @Test("A transaction reads from the server, and commits there")
  func transaction() async throws {
    let world = try ClientWorld { $0.clock = ImmediateClock() }
    let path = try DocumentPath("rooms/eros")
    let found = Document(path, .found(["n": 1]), version: try .init(microseconds: 7))
    world.server.state.withLock { $0.found[path] = found }
    let eros = world.firestore.document("rooms/eros")
    do {
      // The scripted server lets every commit collide.
      try await world.firestore.runTransaction { transaction in
        let read = try await transaction.getDocument(eros)
        #expect(read.get("n") as? Int == 1 && !read.metadata.isFromCache)
        transaction.updateData(["n": 2], forDocument: eros)
      }
      Issue.record("It succeeded.")
    } catch { #expect((error as? FirestoreError)?.code == .aborted) }
    try await world.end()
  }

  /// Another user signs in behind the read of the first run, or between the runs.
  @Test("A transaction does not run again as another user", arguments: [1, 2])
  func transactionOfAnother(last: Int) async throws {
    let signIn = EngineSignIn()
    signIn.set(.user("ann"))
    let world = try ClientWorld {
      $0.clock = ImmediateClock()
      $0.tokenProvider = signIn
    }
    let eros = world.firestore.document("rooms/eros")
    let runs = Gathered<Int>()
    do {
      try await world.firestore.runTransaction { [firestore = world.firestore] transaction in
        runs.add(1)
        if last == 1 { _ = try await transaction.getDocument(eros) }
        if runs.all.count == last {
          signIn.set(.user("bob"))
          firestore.tokenDidChange()
        }
        if last == 2 { _ = try await transaction.getDocument(eros) }
        transaction.setData(["n": 2], forDocument: eros)
      }
      Issue.record("It succeeded.")
    } catch { #expect((error as? FirestoreError)?.code == .cancelled, "\(error)") }
    #expect(runs.all.count == last)
    try await world.end()
  }

  @Test("waitForPendingWrites waits for the writes of now, accepted or refused")
  func waiting() async throws {
    let world = try ClientWorld()
    let ends = Ends()
    world.firestore.waitForPendingWrites(completion: ends.add)
    await world.waitUntilIdle()
    #expect(ends.all == [nil])
    world.firestore.document("rooms/a").enqueue(.set(["n": 1]))
    await world.waitUntilIdle()
    world.firestore.waitForPendingWrites(completion: ends.add)
    await world.waitUntilIdle()
    #expect(ends.all == [nil])
    world.server.refuse(.permissionDenied)
    await world.waitUntilIdle()
    #expect(ends.all == [nil, nil])
    try await world.end()
  }

  @Test("Nothing is told after the end has begun", arguments: EngineStore.allCases)
  func end(store: EngineStore) async throws {
    let world = try ClientWorld(store)
    let told = Told<QuerySnapshot>()
    world.firestore.collection("rooms").addSnapshotListener(told.add)
    await world.waitUntilIdle()
    let ends = Ends()
    world.firestore.document("rooms/a").setData(["n": 1], completion: ends.add)
    try await world.end()
    let count = told.values.count
    await world.waitUntilIdle()
    #expect(told.values.count == count && ends.all.isEmpty)
  }

  @Test(
    "A listener of a document knows what a write here and another listen say of it",
    arguments: EngineStore.allCases)
  func absent(store: EngineStore) async throws {
    let world = try ClientWorld(store, isOnline: false)
    let rooms = world.firestore.collection("rooms")
    rooms.document("gone").enqueue(.delete)
    let (gone, never) = (Told<DocumentSnapshot>(), Told<DocumentSnapshot>())
    rooms.document("gone").addSnapshotListener(gone.add)
    rooms.document("never").addSnapshotListener(never.add)
    await world.waitUntilIdle()
    #expect(gone.values.map(\.presence) == [.missing])
    #expect(never.values.map(\.presence) == [.unseen])
    let got = try await rooms.document("gone").getDocument(source: .cache)
    #expect(got.presence == .missing)
    #expect(!got.metadata.hasPendingWrites && !gone.values[0].metadata.hasPendingWrites)
    try await world.end()
  }
}
