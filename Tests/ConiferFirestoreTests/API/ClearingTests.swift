import ConiferDocument
import ConiferDocumentServer
import ConiferKeyValue
import ConiferStorage
import Testing

@testable import ConiferFirestore

/// What the cache of documents forgets when it is told to, and what it keeps.
@Suite("Clearing the cache of documents")
struct ClearingTests {
  private let world: ServerWorld

  init() throws { world = try ServerWorld() }

  /// Documents in two collections with one id, and in one below.
  private func filled(_ firestore: Firestore, count: Int = 5) async throws {
    let writes = try ["rooms", "houses/h/rooms", "rooms/d0/messages"].flatMap { collection in
      try (0..<count).map { number in
        Mutation(
          try DocumentPath("\(collection)/d\(number)"), .set(["n": .integer(Int64(number))], []))
      }
    }
    for start in stride(from: 0, to: writes.count, by: 400) {
      _ = try await world.server.commit(
        Array(writes[start..<min(start + 400, writes.count)]), in: world.database)
    }
    for query in queries(firestore) { _ = try await query.getDocuments(source: .server) }
  }

  private func queries(_ firestore: Firestore) -> [Query] {
    [
      firestore.collection("rooms"), firestore.collection("houses/h/rooms"),
      firestore.collection("rooms/d0/messages"),
      firestore.collection("rooms").whereField("n", isGreaterThan: 3),
      firestore.collectionGroup("rooms").whereField("n", isLessThan: 2),
    ]
  }

  /// How many documents the cache gives of each query.
  private func cached(_ firestore: Firestore) async throws -> [Int] {
    var counts: [Int] = []
    for query in queries(firestore) {
      counts.append(try await query.getDocuments(source: .cache).count)
    }
    return counts
  }

  private func completeness(_ firestore: Firestore) async throws -> [Bool] {
    try await firestore.disableNetwork()
    var known: [Bool] = []
    for query in queries(firestore) {
      known.append(try await query.getDocuments(source: .cache).metadata.wasEverComplete)
    }
    try await firestore.enableNetwork()
    return known
  }

  private func code(_ body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
    do {
      try await body()
      return nil
    } catch { return (error as? FirestoreError)?.code }
  }

  @Test("A collection is forgotten, and nothing beside it", arguments: EngineStore.allCases)
  func collection(_ store: EngineStore) async throws {
    let firestore = try world.firestore(store)
    try await filled(firestore)
    #expect(try await cached(firestore) == [5, 5, 5, 1, 4])
    #expect(try await completeness(firestore) == [true, true, true, true, true])
    try await firestore.clear(at: firestore.collection("rooms"))
    #expect(try await cached(firestore) == [0, 5, 5, 0, 2])
    #expect(try await completeness(firestore) == [false, true, true, false, false])
    try await firestore.disableNetwork()
    let room = firestore.document("rooms/d1")
    #expect(await code { _ = try await room.getDocument() } == .unavailable)
    #expect(await code { _ = try await room.getDocument(source: .cache) } == .unavailable)
    #expect(try await firestore.verify().isSound)
    try await firestore.enableNetwork()
    #expect(try await firestore.collection("rooms").getDocuments(source: .server).count == 5)
    #expect(try await queries(firestore)[4].getDocuments(source: .server).count == 4)
    #expect(try await completeness(firestore) == [true, true, true, false, true])
    try await firestore.terminate()
  }

  @Test("A document and a group are forgotten", arguments: EngineStore.allCases)
  func others(_ store: EngineStore) async throws {
    let firestore = try world.firestore(store)
    try await filled(firestore)
    let missing = firestore.document("rooms/none")
    #expect(try await !missing.getDocument().exists)
    try await firestore.clear(at: firestore.document("rooms/d0"))
    // Queries that it was not in lost nothing.
    #expect(try await cached(firestore) == [4, 5, 5, 1, 3])
    #expect(try await completeness(firestore) == [false, true, true, true, false])
    #expect(try await !missing.getDocument(source: .cache).exists)
    try await firestore.clear(at: missing)
    #expect(await code { _ = try await missing.getDocument(source: .cache) } == .unavailable)
    try await firestore.clear(collectionGroup: "rooms")
    #expect(try await cached(firestore) == [0, 0, 5, 0, 0])
    #expect(try await completeness(firestore) == [false, false, true, false, false])
    #expect(try await firestore.verify().isSound)
    try await firestore.terminate()
  }

  @Test(
    "What is larger than a part is forgotten whole, and stays so after a restart",
    arguments: EngineStore.allCases)
  func large(_ store: EngineStore) async throws {
    let configuration = try world.configuration(store)
    let first = Firestore(configuration)
    try await filled(first, count: DocumentClearing.partSize + 1)
    try await first.clear(collectionGroup: "rooms")
    #expect(try await cached(first) == [0, 0, DocumentClearing.partSize + 1, 0, 0])
    try await first.terminate()
    guard store != .memory else { return }
    let firestore = Firestore(configuration)
    #expect(try await cached(firestore) == [0, 0, DocumentClearing.partSize + 1, 0, 0])
    #expect(try await completeness(firestore) == [false, false, true, false, false])
    #expect(try await firestore.verify().isSound)
    try await firestore.terminate()
  }

  @Test(
    "It is refused while something has a document, and forgets nothing then",
    arguments: EngineStore.allCases)
  func used(_ store: EngineStore) async throws {
    let firestore = try world.firestore(store)
    try await filled(firestore)
    let rooms = firestore.collection("rooms")
    for query in [rooms, rooms.whereField("n", isEqualTo: 1), queries(firestore)[4]] {
      let (current, told) = AsyncStream<Void>.makeStream()
      let listener = query.addSnapshotListener(includeMetadataChanges: true) { snapshot, _ in
        if snapshot?.metadata.isFromCache == false { told.yield() }
      }
      for await _ in current { break }
      #expect(await code { try await firestore.clear(at: rooms) } == .failedPrecondition)
      #expect(
        await code { try await firestore.clear(at: rooms.document("d1")) } == .failedPrecondition)
      #expect(try await cached(firestore) == [5, 5, 5, 1, 4])
      listener.remove()
    }
    // A listener that shows no document of it does not matter.
    let listener = rooms.whereField("n", isEqualTo: 1).addSnapshotListener { _, _ in }
    try await firestore.clear(at: rooms.document("d3"))
    listener.remove()
    rooms.whereField("n", isEqualTo: 4).keepSynced(true)
    #expect(await code { try await firestore.clear(at: rooms) } == .failedPrecondition)
    try await firestore.clear(at: rooms.document("d2"))
    rooms.whereField("n", isEqualTo: 4).keepSynced(false)
    // One that is not listened to, as the server refused that.
    let target = try queries(firestore)[3].checked().target
    for isKept in [true, false] {
      try await firestore.asking { (asked) throws(StoreError) in
        let pin = Pin(Lane(tree: asked.lane.tree), target)
        _ = try await asked.backend.commit([isKept ? .pin(pin) : .unpin(pin)], .relaxed)
      }
      guard isKept else { break }
      #expect(await code { try await firestore.clear(at: rooms) } == .failedPrecondition)
      try await firestore.clear(at: rooms.document("d1"))
    }
    try await firestore.clear(at: rooms)
    #expect(try await cached(firestore) == [0, 5, 5, 0, 2])
    try await firestore.terminate()
  }

  @Test("Waiting writes stay, show and are sent", arguments: EngineStore.allCases)
  func writes(_ store: EngineStore) async throws {
    let firestore = try world.firestore(store)
    try await filled(firestore)
    try await firestore.disableNetwork()
    let rooms = firestore.collection("rooms")
    let set = rooms.document("d1").enqueue(.set(["n": 100]))
    let update = rooms.document("d2").enqueue(.update(["n": 200]))
    _ = try await (set.durable, update.durable)
    try await firestore.clear(at: rooms)
    #expect(try await firestore.pendingWrites().count == 2)
    let shown = try await rooms.getDocuments(source: .cache).documents.map(\.documentID)
    // What an update changes is unknown.
    #expect(shown == ["d1"])
    try await firestore.enableNetwork()
    try await set.acknowledged()
    try await update.acknowledged()
    #expect(try await rooms.document("d2").getDocument(source: .server).get("n") as? Int == 200)
    #expect(try await firestore.verify().isSound)
    try await firestore.terminate()
  }

  @Test("What is invalid is refused")
  func invalid() async throws {
    let (firestore, other) = (try world.firestore(), try world.firestore())
    #expect(
      await code { try await firestore.clear(at: firestore.document("rooms")) } == .invalidArgument)
    #expect(
      await code { try await firestore.clear(at: other.document("rooms/d1")) } == .invalidArgument)
    #expect(await code { try await firestore.clear(collectionGroup: "a/b") } == .invalidArgument)
    try await firestore.terminate()
    #expect(
      await code { try await firestore.clear(at: firestore.document("rooms/d1")) }
        == .failedPrecondition)
    try await other.terminate()
  }
}
