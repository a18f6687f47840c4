import ConiferDocument
import Testing

@testable import ConiferFirestore

@Suite("Places of collections and documents")
struct PathTests {
  @Test("References know their ids, paths and parents")
  func places() {
    let firestore = Recorded().firestore
    let message = firestore.document("/rooms/eros/messages/m1/")
    #expect(message.documentID == "m1")
    #expect(message.path == "rooms/eros/messages/m1")
    #expect(message.parent == firestore.collection("rooms/eros/messages"))
    #expect(message.parent.collectionID == "messages")
    #expect(message.parent.parent == firestore.document("rooms/eros"))
    #expect(firestore.collection("rooms").parent == nil)
    #expect(firestore.collection("rooms").path == "rooms")
    #expect(firestore.document("rooms/eros").collection("messages").document("m1") == message)
    #expect(firestore.collection("rooms").document("eros/messages/m1") == message)
    #expect(message.firestore === firestore)
    #expect(message != Recorded().firestore.document("rooms/eros/messages/m1"))
  }

  @Test("A new document's id has 20 letters and digits, all of which come up")
  func newIDs() {
    let collection = Recorded().firestore.collection("rooms")
    let ids = (0..<200).map { _ in collection.document().documentID }
    #expect(Set(ids).count == 200)
    #expect(ids.allSatisfy { $0.utf8.count == 20 })
    let letters = Set(ids.joined())
    #expect(letters.count == 62)
    #expect(letters.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) })
  }

  @Test("New documents have ids even where the random numbers of the configuration never change")
  func constantRandom() {
    let collection = Recorded { $0.random = { .max } }.firestore.collection("rooms")
    let ids = (0..<2).map { _ in collection.document().documentID }
    #expect(ids.allSatisfy { $0.utf8.count == 20 } && ids[0] != ids[1])
  }

  @Test(
    "A document's path that is invalid is told by the use of the reference",
    arguments: ["", "/", "rooms", "rooms//eros", "rooms/eros/messages", "//rooms/eros"])
  func documentFaults(path: String) async throws {
    let world = Recorded()
    let document = world.firestore.document(path)
    await #expect(throws: FirestoreError.self) { try await document.getDocument() }
    await #expect(throws: FirestoreError.self) { try await document.setData(["a": 1]) }
    await #expect(throws: FirestoreError.self) { try await document.delete() }
    #expect(world.engine.calls.isEmpty && world.engine.writes.isEmpty)
    let told = Told<DocumentSnapshot>()
    document.addSnapshotListener(told.add)
    #expect(told.codes == [.invalidArgument])
    #expect(told.values.isEmpty)
  }

  @Test(
    "A collection's path that is invalid is told by its use, and by that of its documents",
    arguments: ["", "rooms/eros", "rooms//messages"])
  func collectionFaults(path: String) async throws {
    let world = Recorded()
    let collection = world.firestore.collection(path)
    await #expect(throws: FirestoreError.self) { try await collection.getDocuments() }
    await #expect(throws: FirestoreError.self) { try await collection.addDocument(data: [:]) }
    await #expect(throws: FirestoreError.self) {
      try await collection.whereField("a", isEqualTo: 1).getDocuments()
    }
    await #expect(throws: FirestoreError.self) {
      try await collection.document("x").collection("y").document("z").getDocument()
    }
    await #expect(throws: FirestoreError.self) {
      try await collection.parent?.getDocument()
    }
    #expect(world.engine.calls.isEmpty && world.engine.writes.isEmpty)
  }

  @Test("A group's id has no slash and is not empty", arguments: ["", "rooms/eros"])
  func groupFaults(id: String) async {
    let world = Recorded()
    await #expect(throws: FirestoreError.self) {
      try await world.firestore.collectionGroup(id).getDocuments()
    }
    #expect(world.engine.calls.isEmpty)
  }

  @Test("A reference into another database keeps its name, and is written nowhere")
  func foreign() throws {
    let world = Recorded()
    let name = DocumentName(
      try DocumentPath("rooms/eros"), in: DatabaseID(project: "elsewhere"))
    let snapshot = try world.snapshot("a/b", ["ref": .reference(name)])
    let reference = try #require(snapshot.get("ref") as? DocumentReference)
    #expect(reference.path == "projects/elsewhere/databases/(default)/documents/rooms/eros")
    #expect(try world.set(["ref": reference]) == nil)
    #expect(world.errors.all.count == 1)
  }
}
