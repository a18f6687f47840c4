import ConiferDocument
import Testing

@testable import ConiferDocumentSync
@testable import ConiferFirestore

@Suite("Sequences of snapshots")
struct SequenceTests {
  let world = Recorded()
  var rooms: CollectionReference { world.firestore.collection("rooms") }

  @Test("A slow reader gets the newest snapshot, with all changes since the one before")
  func slowReader() async throws {
    let model = try rooms.checked()
    var iterator = rooms.snapshots.makeAsyncIterator()
    let first = try world.event(model, ["a": ["n": 1], "b": ["n": 1]])
    world.tell(first)
    let begun = try #require(try await iterator.next())
    #expect(begun.documentChanges.map(\.type) == [.added, .added])
    let second = try world.event(model, ["b": ["n": 2], "c": ["n": 1]], after: first)
    let third = try world.event(model, ["b": ["n": 3], "d": ["n": 1]], after: second)
    world.tell(second)
    world.tell(third)
    let next = try #require(try await iterator.next())
    #expect(next.documents.map(\.documentID) == ["b", "d"])
    #expect(next.documentChanges.map(\.type) == [.removed, .added, .modified])
    #expect(next.documentChanges.map(\.document.documentID) == ["a", "d", "b"])
    #expect(next.documentChanges.map(\.newIndex).last == 0)
    let fourth = try world.event(model, ["b": ["n": 3]], after: third)
    world.tell(fourth)
    let last = try #require(try await iterator.next())
    #expect(last.documentChanges.map(\.document.documentID) == ["d"])
  }

  @Test("A reader who begins late gets all documents as added")
  func lateReader() async throws {
    let model = try rooms.checked()
    var iterator = rooms.snapshots.makeAsyncIterator()
    let first = try world.event(model, ["a": ["n": 1]])
    world.tell(first)
    world.tell(try world.event(model, ["a": ["n": 2], "b": ["n": 1]], after: first))
    let begun = try #require(try await iterator.next())
    #expect(begun.documentChanges.map(\.type) == [.added, .added])
  }

  @Test("An error ends the sequence, and so does the end of the task; the listener goes with it")
  func ends() async throws {
    var iterator: Snapshots<QuerySnapshot>.Iterator? = rooms.snapshots.makeAsyncIterator()
    world.engine.listens[0].told(.failure(FirestoreError(.permissionDenied, "No.")))
    await #expect(throws: FirestoreError.self) { try await iterator?.next() }
    #expect(try await iterator?.next() == nil)
    iterator = nil
    #expect(world.engine.unlistened.count == 1)
    let task = Task { [rooms] in
      for try await _ in rooms.snapshots {}
      return true
    }
    task.cancel()
    #expect(try await task.value)
    #expect(world.engine.unlistened.count == world.engine.listens.count)
  }

  @Test("A document's sequence gives its snapshots, by the options that it is given")
  func document() async throws {
    let document = world.firestore.document("rooms/eros")
    var iterator =
      document.snapshots(options: SnapshotListenOptions().withSource(.cache)).makeAsyncIterator()
    #expect(world.engine.listens[0].options.source == .cache)
    world.tell(try world.event(document.query().get(), ["eros": ["n": 1]]))
    #expect(try await iterator.next()?.get("n") as? Int == 1)
    _ = document.snapshots(includeMetadataChanges: true).makeAsyncIterator()
    #expect(world.engine.listens[1].options.includesMetadataChanges)
    #expect(world.engine.unlistened.count == 1)
  }

  @Test("The end of the database ends the sequence with an error, once")
  func terminated() async throws {
    var iterator = rooms.snapshots.makeAsyncIterator()
    var other = world.firestore.document("rooms/eros").snapshots.makeAsyncIterator()
    try await world.firestore.terminate()
    for _ in 0..<2 {
      let error = await #expect(throws: FirestoreError.self) { try await iterator.next() }
      #expect(error?.code == .failedPrecondition)
      #expect(try await iterator.next() == nil)
      iterator = rooms.snapshots.makeAsyncIterator()
    }
    await #expect(throws: FirestoreError.self) { try await other.next() }
  }
}
