import ConiferDocument
import ConiferEngine
import Testing

@testable import ConiferFirestore

@Suite("Writes as the app asks for them")
struct WriteTests {
  let world = Recorded()
  var document: DocumentReference { world.firestore.document("rooms/eros") }

  private func expect(
    _ expected: [Mutation], _ location: SourceLocation = #_sourceLocation
  ) throws {
    #expect(world.engine.writes.last == expected, sourceLocation: location)
  }

  @Test("Each call is the write of the model")
  func calls() throws {
    let path = try DocumentPath("rooms/eros")
    let database = world.database
    document.setData(["a": 1])
    try expect([try .set(path, [("a", 1)], in: database)])
    document.setData(["a": ["b": 1], "c": FieldValue.delete()], merge: true)
    try expect([try .merge(path, [("a", ["b": 1]), ("c", .delete)], in: database)])
    document.setData(["a": 1], merge: false)
    try expect([try .set(path, [("a", 1)], in: database)])
    document.setData(["a": ["b": 1, "c": 2], "d": 3], mergeFields: ["a.b", FieldPath(["d"])])
    try expect([
      try .merge(
        path, [("a", ["b": 1, "c": 2]), ("d", 3)],
        fields: [.init(dotted: "a.b"), .init(["d"])], in: database)
    ])
    document.updateData([
      "a.b": 1, FieldPath(["c.d"]): FieldValue.increment(2), "e": FieldValue.delete(),
    ])
    try expect([
      try .update(
        path,
        [
          (.init(dotted: "a.b"), 1), (.init(["c.d"]), .increment(2)),
          (.init(["e"]), .delete),
        ], in: database)
    ])
    document.delete()
    try expect([try .delete(path)])
    #expect(world.errors.all.isEmpty)
  }

  @Test("Instructions are the transforms of the model")
  func transforms() throws {
    let path = try DocumentPath("rooms/eros")
    document.updateData([
      "a": FieldValue.serverTimestamp(), "b": FieldValue.increment(Int64(1)),
      "c": FieldValue.increment(1.5), "d": FieldValue.arrayUnion([1, "x"]),
      "e": FieldValue.arrayRemove([2]), "f": FieldValue.minimum(1), "g": FieldValue.maximum(2.5),
    ])
    try expect([
      try .update(
        path,
        [
          (.init(["a"]), .serverTimestamp), (.init(["b"]), .increment(.integer(1))),
          (.init(["c"]), .increment(.double(1.5))), (.init(["d"]), .arrayUnion([1, "x"])),
          (.init(["e"]), .arrayRemove([2])), (.init(["f"]), .minimum(.integer(1))),
          (.init(["g"]), .maximum(.double(2.5))),
        ], in: world.database)
    ])
    #expect(FieldValue.increment(1) == FieldValue.increment(Int64(1)))
    #expect(FieldValue.increment(1) != FieldValue.increment(1.0))
    #expect(FieldValue.serverTimestamp() == FieldValue.serverTimestamp())
    #expect(FieldValue.arrayUnion([1]) != FieldValue.arrayRemove([1]))
  }

  @Test("The completion block gets the server's answer, and so does the receipt")
  func completion() async throws {
    let ends = Ends()
    let receipt = document.setData(["a": 1], completion: ends.add)
    #expect(ends.all.isEmpty)
    world.engine.end()
    #expect(ends.all == [nil])
    #expect(try await receipt.outcome == .acknowledged)
    document.updateData(["a": 1], completion: ends.add)
    world.engine.end(FirestoreError(.notFound, "No such document."))
    #expect(ends.all == [nil, .notFound])
    #expect(world.errors.all.isEmpty)
  }

  @Test("What is invalid goes to the block; without one to the receipt and the log")
  func faults() async throws {
    let ends = Ends()
    document.setData(["a": FieldValue.delete()], completion: ends.add)
    document.setData(["a": 1], mergeFields: ["b"]) { ends.add($0) }
    document.updateData(["a": 1, "a.b": 2], completion: ends.add)
    document.updateData(["a": ["b": FieldValue.delete()]], completion: ends.add)
    document.updateData(["a..b": 2], completion: ends.add)
    document.updateData([3: 2], completion: ends.add)
    document.updateData([FieldPath([]): 2], completion: ends.add)
    #expect(ends.all == Array(repeating: .invalidArgument, count: 7))
    #expect(world.errors.all.isEmpty)
    let receipt = document.enqueue(.set(["a": FieldValue.delete()]))
    #expect(world.errors.all.count == 1)
    await #expect(throws: DatabaseError.self) { try await receipt.id }
    #expect(world.engine.writes.isEmpty)
  }

  /// One that is not refused would wait for an answer.
  @Test("A batch that no request may have is refused before it is queued", .timeLimit(.minutes(1)))
  func batchTooLarge() async throws {
    let (many, large) = (world.firestore.batch(), world.firestore.batch())
    for n in 0...DocumentLimits.writes {
      many.deleteDocument(world.firestore.document("rooms/r\(n)"))
    }
    let text = String(repeating: "x", count: 900_000)
    for n in 0..<12 { large.setData(["t": text], forDocument: world.firestore.document("a/r\(n)")) }
    for batch in [many, large] {
      let error = await #expect(throws: FirestoreError.self) { try await batch.commit() }
      #expect(error?.code == .invalidArgument && error?.cause == "request-too-large")
    }
    #expect(world.engine.writes.isEmpty)
  }

  @Test("The async forms wait for the server, and throw what it says")
  func async() async throws {
    async let write: Void = document.setData(["a": 1])
    while world.engine.writes.isEmpty { await Task.yield() }
    world.engine.end()
    try await write
    let refused = Task { [document] in
      do throws(FirestoreError) {
        try await document.updateData(["a": 1])
        return FirestoreErrorCode.Code.OK
      } catch { return error.code }
    }
    while world.engine.writes.count < 2 { await Task.yield() }
    world.engine.end(FirestoreError(.permissionDenied, "No."))
    #expect(await refused.value == .permissionDenied)
  }

  @Test("A batch is one write of all; its faults are told when it is committed")
  func batch() async throws {
    let other = world.firestore.document("rooms/zeus")
    let ends = Ends()
    world.firestore.batch()
      .setData(["a": 1], forDocument: document)
      .setData(["b": 1], forDocument: other, merge: true)
      .updateData(["c": 1], forDocument: document)
      .deleteDocument(other)
      .commit(completion: ends.add)
    let database = world.database
    let (eros, zeus) = (try DocumentPath("rooms/eros"), try DocumentPath("rooms/zeus"))
    try expect([
      try .set(eros, [("a", 1)], in: database), try .merge(zeus, [("b", 1)], in: database),
      try .update(eros, [(.init(["c"]), 1)], in: database), try .delete(zeus),
    ])
    let faulty = world.firestore.batch().setData(["a": FieldValue.delete()], forDocument: document)
    faulty.deleteDocument(other)
    faulty.commit(completion: ends.add)
    let foreign = world.firestore.batch()
    foreign.deleteDocument(Recorded().firestore.document("a/b"))
    foreign.commit(completion: ends.add)
    #expect(ends.all == [.invalidArgument, .invalidArgument])
    #expect(world.engine.writes.count == 1)
  }

  @Test("A committed batch takes no more writes, and is not committed again")
  func committedBatch() {
    let batch = world.firestore.batch().setData(["a": 1], forDocument: document)
    batch.enqueue()
    batch.deleteDocument(document)
    #expect(world.errors.all.count == 1)
    let ends = Ends()
    batch.commit(completion: ends.add)
    #expect(ends.all == [.failedPrecondition])
    #expect(world.engine.writes.count == 1)
    #expect(world.engine.writes.first?.count == 1)
  }

  @Test("A document with a new id is added")
  func add() throws {
    let added = world.firestore.collection("rooms").addDocument(data: ["a": 1])
    #expect(added.parent == world.firestore.collection("rooms"))
    #expect(world.engine.writes.last?.first?.path.description == added.path)
  }

  @Test("A batch of thousands of writes is one write, in their order")
  func largeBatch() {
    let batch = world.firestore.batch()
    let rooms = world.firestore.collection("rooms")
    for n in 0..<5_000 { batch.setData(["n": n], forDocument: rooms.document("\(n)")) }
    batch.commit()
    #expect(world.engine.writes.map(\.count) == [5_000])
    #expect(world.engine.writes[0].enumerated().allSatisfy { $0.element.path.id == "\($0.offset)" })
  }
}
