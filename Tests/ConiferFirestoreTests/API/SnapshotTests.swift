import ConiferDocument
import Foundation
import Testing

@testable import ConiferFirestore

@Suite("Snapshots and listeners")
struct SnapshotTests {
  let world = Recorded()
  var rooms: CollectionReference { world.firestore.collection("rooms") }

  @Test("A first snapshot adds all documents; later ones say what changed and where")
  func changes() throws {
    let query = rooms.order(by: "n")
    let told = Told<QuerySnapshot>()
    query.addSnapshotListener(told.add)
    let model = try query.checked()
    let first = try world.event(model, ["a": ["n": 1], "b": ["n": 2], "c": ["n": 3]])
    world.tell(first)
    world.tell(
      try world.event(
        model, ["b": ["n": 4], "c": ["n": 3], "d": ["n": 0]], after: first))
    let snapshots = told.values
    #expect(snapshots.map(\.count) == [3, 3])
    #expect(snapshots[0].documents.map(\.documentID) == ["a", "b", "c"])
    #expect(snapshots[0].documentChanges.map(\.newIndex) == [0, 1, 2])
    #expect(snapshots[0].documentChanges.allSatisfy { $0.type == .added })
    #expect(snapshots[0].documentChanges.allSatisfy { $0.oldIndex == UInt(NSNotFound) })
    #expect(snapshots[1].documents.map(\.documentID) == ["d", "c", "b"])
    let changes = snapshots[1].documentChanges
    #expect(changes.map(\.type) == [.removed, .added, .modified])
    #expect(changes.map(\.document.documentID) == ["a", "d", "b"])
    #expect(changes.map(\.oldIndex) == [0, UInt(NSNotFound), 1])
    #expect(changes.map(\.newIndex) == [UInt(NSNotFound), 0, 2])
    #expect(changes[0].document.data()["n"] as? Int == 1)
    #expect(snapshots[1].query == query)
    #expect(!snapshots[1].isEmpty)
  }

  @Test("Changes of metadata are had by those who asked the listener for them")
  func metadataChanges() throws {
    let model = try rooms.checked()
    let told = Told<QuerySnapshot>()
    rooms.addSnapshotListener(includeMetadataChanges: true, listener: told.add)
    let first = try world.event(model, ["a": ["n": 1]], pending: ["a"], includesMetadata: true)
    world.tell(first)
    let second = try world.event(model, ["a": ["n": 1]], includesMetadata: true, after: first)
    world.tell(second)
    #expect(told.values[0].metadata.hasPendingWrites)
    #expect(told.values[0].documents[0].metadata.hasPendingWrites)
    #expect(!told.values[1].metadata.hasPendingWrites)
    #expect(told.values[1].documentChanges.isEmpty)
    let changes = told.values[1].documentChanges(includeMetadataChanges: true)
    #expect(changes.map(\.type) == [.modified])
    #expect(changes.map(\.oldIndex) == [0] && changes.map(\.newIndex) == [0])
    // A listener that left them out has none to give.
    let excluding = QuerySnapshot(rooms, try world.event(model, ["a": ["n": 1]]))
    #expect(world.errors.all.isEmpty)
    #expect(excluding.documentChanges(includeMetadataChanges: true).count == 1)
    #expect(world.errors.all.count == 1)
  }

  @Test("A document's snapshot tells what is there, what is gone, and what was never seen")
  func presence() throws {
    let document = world.firestore.document("rooms/eros")
    let told = Told<DocumentSnapshot>()
    document.addSnapshotListener(told.add)
    let model = try document.query().get()
    let time = try ConiferDocument.Timestamp(microseconds: 7)
    world.tell(try world.event(model, [:], isFromCache: true))
    world.tell(
      try world.event(
        model, [:], isFromCache: true,
        knowledge: QueryKnowledge(wasEverComplete: true, readTime: time)))
    world.tell(try world.event(model, [:]))
    world.tell(try world.event(model, ["eros": ["n": 1]], pending: ["eros"], isFromCache: true))
    let values = told.values
    #expect(values.map(\.presence) == [.unseen, .missing, .missing, .found])
    #expect(values.map(\.exists) == [false, false, false, true])
    #expect(values[0].data() == nil && values[0].get("n") == nil)
    #expect(values[3].data()?["n"] as? Int == 1)
    #expect(values.map(\.metadata.isFromCache) == [true, true, false, true])
    #expect(values.map(\.metadata.hasPendingWrites) == [false, false, false, true])
    #expect(values.map(\.metadata.wasEverComplete) == [false, true, true, true])
    #expect(values[0].metadata.serverTime == nil)
    #expect(values[1].metadata.serverTime == Timestamp(seconds: 0, nanoseconds: 7000))
    #expect(values.allSatisfy { $0.reference == document })
  }

  @Test("A query's snapshot tells how well the cache knew it")
  func knowledge() throws {
    let model = try rooms.checked()
    let time = try ConiferDocument.Timestamp(microseconds: 7)
    let never = QuerySnapshot(rooms, try world.event(model, [:], isFromCache: true))
    #expect(!never.metadata.wasEverComplete && never.metadata.serverTime == nil)
    let once = QuerySnapshot(
      rooms,
      try world.event(
        model, ["a": ["n": 1]], isFromCache: true,
        knowledge: QueryKnowledge(wasEverComplete: true, readTime: time)))
    #expect(once.metadata.wasEverComplete)
    #expect(once.metadata.serverTime == Timestamp(seconds: 0, nanoseconds: 7000))
    #expect(once.documents[0].metadata.serverTime == Timestamp(seconds: 0, nanoseconds: 5000))
  }

  @Test("What stands for a server timestamp that the server has yet to say is the reader's choice")
  func serverTimestamps() throws {
    let written = try ConiferDocument.Timestamp(seconds: 9)
    let snapshot = try world.snapshot(
      "rooms/eros",
      [
        "a": .serverTimestamp(written: written, previous: 3),
        "m": ["b": .serverTimestamp(written: written, previous: nil)],
      ])
    #expect(snapshot.get("a") is NSNull)
    #expect(snapshot.data()?["a"] is NSNull)
    let time = Timestamp(seconds: 9, nanoseconds: 0)
    #expect(snapshot.get("a", serverTimestampBehavior: .estimate) as? Timestamp == time)
    #expect(snapshot.get("a", serverTimestampBehavior: .previous) as? Int == 3)
    let data = try #require(snapshot.data(with: .estimate))
    #expect((data["m"] as? [String: Any])?["b"] as? Timestamp == time)
    #expect(snapshot.get("m.b", serverTimestampBehavior: .previous) is NSNull)
  }

  @Test("Snapshots are equal when place, data and metadata are")
  func equality() throws {
    let model = try rooms.checked()
    func query(_ n: Int64, isFromCache: Bool = false) throws -> QuerySnapshot {
      QuerySnapshot(
        rooms, try world.event(model, ["a": ["n": .integer(n)]], isFromCache: isFromCache))
    }
    #expect(try query(1) == query(1))
    #expect(try query(1) != query(2))
    #expect(try query(1) != query(1, isFromCache: true))
    #expect(try query(1).documents[0] == query(1).documents[0])
    #expect(try query(1).documents[0] != query(2).documents[0])
    #expect(try world.snapshot("a/b", nil) == world.snapshot("a/b", nil))
    #expect(try world.snapshot("a/b", nil) != world.snapshot("a/c", nil))
    #expect(try world.snapshot("a/b", ["n": 1]) != world.snapshot("a/b", ["n": 1.0]))
  }

  @Test("A removed listener is told nothing more, also when it removes itself")
  func removal() throws {
    let model = try rooms.checked()
    let told = Told<QuerySnapshot>()
    let listener = rooms.addSnapshotListener(told.add)
    let event = try world.event(model, [:])
    world.tell(event)
    listener.remove()
    listener.remove()
    world.tell(event)
    #expect(told.values.count == 1)
    #expect(world.engine.unlistened.count == 1)
  }

  @Test("An error is told to the listener")
  func error() throws {
    let told = Told<QuerySnapshot>()
    rooms.addSnapshotListener(told.add)
    world.engine.listens[0].told(.failure(FirestoreError(.permissionDenied, "No.")))
    #expect(told.codes == [.permissionDenied] && told.values.isEmpty)
  }

  @Test("A listener of moments is called at once and until it is removed")
  func inSync() {
    let ends = Ends()
    let listener = world.firestore.addSnapshotsInSyncListener { ends.add(nil) }
    let tell = world.engine.answer { $0.inSync.values.first }
    tell?()
    listener.remove()
    tell?()
    #expect(ends.all.count == 2)
    #expect(world.engine.unlistened.count == 1)
  }

  @Test("Gets give what the engine got, or its error")
  func gets() async throws {
    let path = try DocumentPath("rooms/eros")
    let document = world.firestore.document("rooms/eros")
    let time = try ConiferDocument.Timestamp(microseconds: 5)
    world.engine.answer {
      $0.got = .success(
        GotDocument(
          document: Document(path, .missing, readTime: time), isFromCache: true))
    }
    let gone = try await document.getDocument(source: .cache)
    #expect(gone.presence == .missing && gone.metadata.isFromCache)
    #expect(gone.metadata.wasEverComplete && gone.metadata.serverTime != nil)
    world.engine.answer {
      $0.got = .success(
        GotDocument(document: Document(path, .missing), isFromCache: false, confirmed: time))
    }
    #expect(try await document.getDocument().metadata.serverTime == Timestamp(time))
    world.engine.answer { $0.got = .failure(FirestoreError(.unavailable, "Offline.")) }
    let told = Told<DocumentSnapshot>()
    document.getDocument(completion: told.add)
    #expect(told.codes == [.unavailable])
    let event = try world.event(rooms.checked(), ["a": ["n": 1]], isFromCache: true)
    world.engine.answer { $0.found = .success(event) }
    let found = try await rooms.getDocuments()
    #expect(found.count == 1 && found.metadata.isFromCache)
  }

  @Test("What is known of an absent document by other listens and by writes counts too")
  func absent() throws {
    let document = world.firestore.document("rooms/eros")
    let told = Told<DocumentSnapshot>()
    document.addSnapshotListener(told.add)
    let model = try document.query().get()
    let path = try DocumentPath("rooms/eros")
    let time = try ConiferDocument.Timestamp(microseconds: 7)
    for absent in [
      Document(path, .missing, readTime: time), Document(path, .missing, writes: .pending),
      Document(path, .unknown, readTime: time), Document(path, .unseen),
    ] {
      world.tell(
        try world.event(
          model, [:], isFromCache: true, knowledge: QueryKnowledge(absent: absent)))
    }
    world.tell(
      try world.event(model, [:], knowledge: QueryKnowledge(absent: Document(path, .unseen))))
    // What the server said once was forgotten.
    world.tell(
      try world.event(
        model, [:], isFromCache: true,
        knowledge: QueryKnowledge(wasEverComplete: true, absent: Document(path, .unseen))))
    #expect(
      told.values.map(\.presence) == [.missing, .missing, .unknown, .unseen, .missing, .unseen])
    #expect(told.values.map(\.metadata.wasEverComplete) == [true, false, true, false, true, true])
    #expect(told.values.first?.metadata.serverTime == Timestamp(time))
    #expect(told.values.allSatisfy { !$0.metadata.hasPendingWrites })
  }

  @Test("A document of a snapshot that the server confirmed is as new as the snapshot")
  func serverTime() throws {
    let told = Told<QuerySnapshot>()
    rooms.addSnapshotListener(told.add)
    let time = try ConiferDocument.Timestamp(microseconds: 9)
    let knowledge = QueryKnowledge(wasEverComplete: true, readTime: time)
    for isFromCache in [true, false] {
      world.tell(
        try world.event(
          try rooms.checked(), ["a": ["n": 1]], isFromCache: isFromCache, knowledge: knowledge))
    }
    let old = Timestamp(try .init(microseconds: 5))
    #expect(told.values.map { $0.documents[0].metadata.serverTime } == [old, Timestamp(time)])
    #expect(
      told.values.map { $0.documentChanges[0].document.metadata.serverTime } == [
        old, Timestamp(time),
      ])
  }

  @Test("Errors are met by the Apple SDK's names")
  func errorNames() throws {
    let error: any Error = FirestoreError(.unavailable, "No server.")
    func name() -> String {
      do { throw error } catch FirestoreErrorCode.notFound {
        return "notFound"
      } catch FirestoreErrorCode.unavailable {
        return "unavailable"
      } catch { return "\(error)" }
    }
    #expect(name() == "unavailable")
    #expect((error as? FirestoreErrorCode)?.code == .unavailable)
    #expect((error as NSError).code == FirestoreErrorCode.unavailable.rawValue)
    #expect((error as NSError).domain == FirestoreErrorDomain)
    #expect(!(FirestoreErrorCode.unavailable ~= CancellationError()))
  }
}
