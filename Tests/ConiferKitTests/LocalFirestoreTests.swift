import ConiferDocument
import ConiferDocumentServer
import ConiferKit
import ConiferStorage
import Foundation
import Logging
import TestSupport
import Testing

/// A database of documents without a server is complete: its own store is the authority.
@Suite(.timeLimit(.minutes(10))) struct `Documents without a server` {
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func open(
    _ store: KitStore = .sqlite, _ change: (inout FirestoreConfiguration) -> Void = { _ in }
  ) -> Firestore {
    var configuration = FirestoreConfiguration.local(storage: store.storage(at: scratch.store))
    configuration.logger.logLevel = .critical
    configuration.callbackQueue = CallbackQueue(queue: .global()) { $0() }
    change(&configuration)
    return Firestore(configuration)
  }

  private func number(_ path: String, in db: Firestore) async throws -> Int? {
    try await db.document(path).getDocument().get("n") as? Int
  }

  private func code(
    _ body: () async throws(FirestoreError) -> Void
  ) async -> FirestoreError.Code? {
    do throws(FirestoreError) {
      try await body()
      return nil
    } catch { return error.code }
  }

  @Test func `listeners and gets come from the authority, and never from a cache`() async throws {
    let db = open()
    let room = db.document("rooms/r1")
    var seen: [String] = []
    for try await snapshot in room.snapshots(includeMetadataChanges: true) {
      let metadata = snapshot.metadata
      if metadata.isFromCache || metadata.hasPendingWrites { continue }
      let name = snapshot.get("name") as? String ?? "none"
      if seen.last == name { continue }
      seen.append(name)
      if seen.count == 1 { room.enqueue(.set(["name": "Attic"])) }
      if seen.count == 2 { break }
    }
    #expect(seen == ["none", "Attic"])
    for source in [FirestoreSource.default, .server, .cache] {
      let found = try await room.getDocument(source: source)
      #expect(found.get("name") as? String == "Attic" && !found.metadata.isFromCache)
      let missing = try await db.document("rooms/none").getDocument(source: source)
      #expect(!missing.exists && missing.presence == .missing)
    }
    try await db.terminate()
  }

  @Test(arguments: KitStore.allCases)
  func `what was awaited is there when it is opened again`(_ store: KitStore) async throws {
    let first = open(store)
    try await first.document("rooms/r1").setData(["n": 1])
    let batch = first.batch()
    batch.updateData(["n": FieldValue.increment(Int64(2))], forDocument: first.document("rooms/r1"))
    batch.setData(["n": 5], forDocument: first.document("rooms/r1/chairs/c1"))
    try await batch.commit()
    try await first.terminate()
    let again = open(store)
    // Also by a get of the cache, which such a database does not have.
    let kept = try await again.collection("rooms").getDocuments(source: .cache)
    #expect(kept.documents.map { $0.get("n") as? Int } == [3] && !kept.metadata.isFromCache)
    #expect(try await number("rooms/r1/chairs/c1", in: again) == 5)
    try await again.terminate()
  }

  @Test
  func `queries, aggregates, transactions, preconditions and server values are as with a server`()
    async throws
  {
    let db = open()
    let rooms = db.collection("rooms")
    for (id, seats) in [("r1", 4), ("r2", 2), ("r3", 9)] {
      try await rooms.document(id).setData([
        "seats": seats, "edited": FieldValue.serverTimestamp(),
      ])
    }
    try await db.setIndexConfiguration(
      """
      {"indexes": [{"collectionGroup": "rooms", "queryScope": "COLLECTION",
        "fields": [{"fieldPath": "seats", "order": "ASCENDING"}]}]}
      """)
    let large = rooms.whereField("seats", isGreaterThan: 3).order(by: "seats")
    #expect(try await large.getDocuments().documents.map(\.documentID) == ["r1", "r3"])
    #expect(try await large.count.getAggregation(source: .server).count == 2)
    let edited =
      try await rooms.document("r1").getDocument().get("edited") as? ConiferFirestore.Timestamp
    #expect(edited?.seconds ?? 0 > 1_700_000_000)
    let seats = try await db.runTransaction { transaction in
      let room = rooms.document("r2")
      let seats = try await transaction.getDocument(room).get("seats") as? Int ?? 0
      transaction.updateData(["seats": seats + 1], forDocument: room)
      return seats
    }
    #expect(seats == 2)
    #expect(try await rooms.document("r2").getDocument().get("seats") as? Int == 3)
    #expect(
      await code { () async throws(FirestoreError) in
        try await rooms.document("none").updateData(["seats": 1])
      } == .notFound)
    #expect(try await db.rejectedWrites().count == 1)
    try await db.terminate()
  }

  @Test func `a declared index serves the queries of the authority`() async throws {
    let db = open()
    try await db.setIndexConfiguration(
      """
      {"indexes": [{"collectionGroup": "rooms", "queryScope": "COLLECTION",
        "fields": [{"fieldPath": "open", "order": "ASCENDING"}, {"fieldPath": "seats", "order": "ASCENDING"}]}]}
      """)
    let batch = db.batch()
    for number in 0..<100 {
      batch.setData(
        ["open": number % 50 == 0, "seats": number], forDocument: db.document("rooms/r\(number)"))
    }
    try await batch.commit()
    let open = db.collection("rooms").whereField("open", isEqualTo: true).order(by: "seats")
    try await eventually("the index is not built") {
      try await db.explain(open).indexEntries > 0
    }
    #expect(try await open.getDocuments().documents.map(\.documentID) == ["r0", "r50"])
    try await db.terminate()
  }

  @Test(arguments: [true, false])
  func `what waits when it is terminated is kept, offline too`(_ isOnline: Bool) async throws {
    let db = open()
    if !isOnline { try await db.disableNetwork() }
    for number in 0..<20 { db.document("n/\(number)").enqueue(.set(["n": number])) }
    try await db.terminate()
    let again = open()
    let found = try await again.collection("n").getDocuments()
    #expect(found.count == 20, "\(found.metadata)")
    #expect(try await again.pendingWrites().isEmpty)
    try await again.terminate()
  }

  @Test func `thousands of writes that wait are stored when it is terminated`() async throws {
    let db = open()
    _ = try await db.document("n/0").getDocument()
    for number in 0..<3_000 { db.document("n/\(number)").enqueue(.set(["n": number])) }
    try await db.terminate()
    let again = open()
    #expect(try await again.collection("n").count.getAggregation(source: .server).count == 3_000)
    try await again.terminate()
  }

  @Test func `offline, it shows what it has shown before, and writes wait`() async throws {
    let db = open()
    try await db.document("rooms/r1").setData(["n": 1])
    try await db.disableNetwork()
    let receipt = db.document("rooms/r1").enqueue(.set(["n": 2]))
    #expect(try await number("rooms/r1", in: db) == 2)
    #expect(try await db.pendingWrites().count == 1)
    try await db.enableNetwork()
    try await receipt.acknowledged()
    try await db.terminate()
  }

  @Test(arguments: KitStore.allCases)
  func `a second opener is told that the store is busy, until the first is terminated`(
    _ store: KitStore
  ) async throws {
    let first = open(store)
    try await first.document("a/b").setData(["n": 1])
    let second = open(store)
    let error = await #expect(throws: FirestoreError.self) {
      _ = try await second.document("a/b").getDocument()
    }
    #expect(error?.code == .unavailable)
    try await second.terminate()
    #expect(try await number("a/b", in: first) == 1)
    try await first.terminate()
    let third = open(store)
    #expect(try await number("a/b", in: third) == 1)
    try await third.terminate()
  }

  @Test func `suspended, it holds no lock, and shows what another opener wrote meanwhile`()
    async throws
  {
    let db = open()
    let place = db.document("a/b")
    try await place.setData(["n": 0])
    try await db.disableNetwork()
    place.enqueue(.set(["n": 1]))
    try await db.suspend()
    #if canImport(Glibc)
      #expect(try FileLocks.lasting(under: scratch.store).isEmpty)
    #endif
    let other = open()
    #expect(try await number("a/b", in: other) == 1)
    try await other.document("a/b").setData(["n": 2])
    #expect(
      await code { () async throws(FirestoreError) in try await db.resume() } == .unavailable)
    let receipt = db.document("a/c").enqueue(.set(["n": 3]))
    try await other.terminate()
    try await db.resume()
    try await db.enableNetwork()
    try await receipt.acknowledged()
    #expect(try await number("a/b", in: db) == 2)
    #expect(try await number("a/c", in: db) == 3)
    try await place.updateData(["n": FieldValue.increment(Int64(5))])
    #expect(try await number("a/b", in: db) == 7)
    try await db.terminate()
  }

  /// Suspending waits for the store first.
  @MainActor @Test func `resumed while it was being suspended, it goes on`() async throws {
    let db = open()
    for number in 0..<50 {
      let receipt = db.document("k/\(number)").enqueue(.set(["n": number]))
      let background = Task { try await db.suspend() }
      let foreground = Task { try await db.resume() }
      try await background.value
      try await foreground.value
      // It would wait for ever.
      try await receipt.acknowledged()
    }
    try await db.terminate()
  }

  @Test func `terminated while it is suspended, it has what was accepted`() async throws {
    let db = open()
    db.document("a/b").enqueue(.set(["n": 1]))
    try await db.suspend()
    let late = db.document("a/b").enqueue(.set(["n": 2]))
    try await db.terminate()
    await #expect(throws: DatabaseError.self) { try await late.acknowledged() }
    let again = open()
    #expect(try await number("a/b", in: again) == 1)
    try await again.terminate()
  }

  @Test func `drained, it has stored all`() async throws {
    let db = open()
    for number in 0..<50 { db.document("n/\(number)").enqueue(.set(["n": number])) }
    let left = try await db.drain(until: .distantFuture)
    #expect(left.pending == 0)
    #expect(try await db.space().file > 0)
    #expect(try await db.verify().isSound)
    #expect(try await db.incidents().incidents.isEmpty)
    try await db.terminate()
  }

  @Test(arguments: KitStore.allCases)
  func `clearing removes all that is kept, once it is terminated`(_ store: KitStore) async throws {
    let db = open(store)
    try await db.document("a/b/c/d").setData(["n": 1])
    #expect(
      await code { () async throws(FirestoreError) in try await db.clearPersistence() }
        == .failedPrecondition)
    try await db.terminate()
    try await db.clearPersistence()
    let again = open(store)
    #expect(try await number("a/b/c/d", in: again) == nil)
    try await again.document("a/b").setData(["n": 2])
    try await again.terminate()
    let third = open(store)
    #expect(try await number("a/b", in: third) == 2)
    try await third.terminate()
  }

  @Test func `without persistence it is complete too, and keeps no files`() async throws {
    let db = open { $0.isPersistenceEnabled = false }
    try await db.document("a/b").setData(["n": 1])
    #expect(try await number("a/b", in: db) == 1)
    #expect(!FileManager.default.fileExists(atPath: scratch.store))
    try await db.terminate()
  }

  @Test func `a transport beside it is a mistake, which is put right`() async throws {
    #expect(throws: Never.self) { try FirestoreConfiguration.local().validate() }
    let server = try DocumentServer()
    let database = DatabaseID(project: "default")
    let db = open { configuration in
      configuration.transport = server.transport(to: database)
      let mistaken = configuration
      #expect(throws: FirestoreError.self) { try mistaken.validate() }
    }
    db.useEmulator(withHost: "localhost", port: 8080)
    try await db.document("a/b").setData(["n": 1])
    #expect(try await number("a/b", in: db) == 1)
    #expect(try await server.document(DocumentPath("a/b"), in: database) == nil)
    try await db.terminate()
    try await server.close()
  }
}
