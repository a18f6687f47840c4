import ConiferDocument
import ConiferDocumentSync
import Foundation
import Testing

@testable import ConiferFirestore

@Suite("Queries")
struct QueryTests {
  let world = Recorded()
  var rooms: CollectionReference { world.firestore.collection("rooms") }

  private func model(_ query: Query) throws -> DocumentQuery { try query.checked() }
  private func base() throws -> DocumentQuery {
    DocumentQuery(.collection(try CollectionPath("rooms")), in: world.database)
  }

  @Test("Each condition is that of the model, by text and by path")
  func filters() throws {
    func check(
      _ a: (CollectionReference) -> Query, _ b: (CollectionReference) -> Query,
      _ operation: FieldFilter.Operator, _ value: DocumentValue,
      _ location: SourceLocation = #_sourceLocation
    ) throws {
      let expected = try base().filtered(
        .field(try .init(dotted: "a.b"), operation, value))
      #expect(try model(a(rooms)) == expected, sourceLocation: location)
      #expect(try model(b(rooms)) == expected, sourceLocation: location)
    }
    let path = FieldPath(["a", "b"])
    try check(
      { $0.whereField("a.b", isEqualTo: 1) }, { $0.whereField(path, isEqualTo: 1) }, .equal, 1)
    try check(
      { $0.whereField("a.b", isNotEqualTo: "x") }, { $0.whereField(path, isNotEqualTo: "x") },
      .notEqual, "x")
    try check(
      { $0.whereField("a.b", isLessThan: 1.5) }, { $0.whereField(path, isLessThan: 1.5) },
      .lessThan, 1.5)
    try check(
      { $0.whereField("a.b", isLessThanOrEqualTo: 1) },
      { $0.whereField(path, isLessThanOrEqualTo: 1) }, .lessThanOrEqual, 1)
    try check(
      { $0.whereField("a.b", isGreaterThan: 1) }, { $0.whereField(path, isGreaterThan: 1) },
      .greaterThan, 1)
    try check(
      { $0.whereField("a.b", isGreaterThanOrEqualTo: 1) },
      { $0.whereField(path, isGreaterThanOrEqualTo: 1) }, .greaterThanOrEqual, 1)
    try check(
      { $0.whereField("a.b", arrayContains: 1) }, { $0.whereField(path, arrayContains: 1) },
      .arrayContains, 1)
    try check(
      { $0.whereField("a.b", arrayContainsAny: [1, 2]) },
      { $0.whereField(path, arrayContainsAny: [1, 2]) }, .arrayContainsAny, [1, 2])
    try check(
      { $0.whereField("a.b", in: [1, [2]]) }, { $0.whereField(path, in: [1, [2]]) }, .in, [1, [2]])
    try check(
      { $0.whereField("a.b", notIn: [1]) }, { $0.whereField(path, notIn: [1]) }, .notIn, [1])
    #expect(try model(rooms.whereField("a", isEqualTo: NSNull())).filters.count == 1)
  }

  @Test("Conditions are joined, orders and limits added")
  func building() throws {
    let query =
      rooms
      .whereFilter(
        .andFilter([
          .whereField("a", isGreaterThan: 1),
          .orFilter([.whereField("b", isEqualTo: 2), .whereField("c", isEqualTo: 3)]),
        ])
      )
      .order(by: "a", descending: true).order(by: FieldPath(["b"])).limit(to: 5)
    let a = try ConiferDocument.FieldPath(dotted: "a")
    let (b, c) = (
      try ConiferDocument.FieldPath(dotted: "b"), try ConiferDocument.FieldPath(dotted: "c")
    )
    let expected = try base()
      .filtered(
        .and([.field(a, .greaterThan, 1), .or([.field(b, .equal, 2), .field(c, .equal, 3)])])
      )
      .ordered(by: a, .descending).ordered(by: b).limited(to: 5)
    #expect(try model(query) == expected)
    #expect(
      try model(rooms.order(by: "a").limit(toLast: 3)) == base().ordered(by: a).limited(toLast: 3))
    #expect(try model(rooms.whereFilter(.andFilter([]))).target.filter == nil)
  }

  @Test("A condition on the document's id takes an id, and in a group a whole path")
  func documentID() throws {
    let id = FieldPath.documentID()
    let name = DocumentName(try DocumentPath("rooms/eros"), in: world.database)
    let expected = try base().filtered(.field(.documentID, .equal, .reference(name)))
    #expect(try model(rooms.whereField(id, isEqualTo: "eros")) == expected)
    #expect(
      try model(rooms.whereField(id, isEqualTo: world.firestore.document("rooms/eros"))) == expected
    )
    let group = world.firestore.collectionGroup("rooms")
    #expect(try model(group.whereField(id, in: ["rooms/eros"])).filters.count == 1)
    #expect(throws: FirestoreError.self) { try model(group.whereField(id, isEqualTo: "eros")) }
    #expect(throws: FirestoreError.self) { try model(rooms.whereField(id, isEqualTo: "a/b")) }
    #expect(throws: FirestoreError.self) { try model(rooms.whereField(id, isEqualTo: 3)) }
  }

  @Test("Ranges start and end at values and at documents")
  func cursors() throws {
    let ordered = rooms.order(by: "a").order(by: "b")
    let a = try ConiferDocument.FieldPath(dotted: "a")
    let b = try ConiferDocument.FieldPath(dotted: "b")
    let model = try base().ordered(by: a).ordered(by: b)
    #expect(try self.model(ordered.start(at: [1, "x"])) == model.starting(at: [1, "x"]))
    #expect(try self.model(ordered.start(after: [1])) == model.starting(after: [1]))
    #expect(try self.model(ordered.end(at: [1])) == model.ending(at: [1]))
    #expect(try self.model(ordered.end(before: [1])) == model.ending(before: [1]))
    let snapshot = try world.snapshot("rooms/eros", ["a": 1, "b": 2])
    let document = snapshot.document
    #expect(try self.model(ordered.start(atDocument: snapshot)) == model.starting(at: document))
    #expect(
      try self.model(ordered.start(afterDocument: snapshot)) == model.starting(after: document))
    #expect(try self.model(ordered.end(atDocument: snapshot)) == model.ending(at: document))
    #expect(try self.model(ordered.end(beforeDocument: snapshot)) == model.ending(before: document))
  }

  static let cases: [(String, @Sendable (CollectionReference) -> Query)] = [
    ("empty list", { $0.whereField("a", in: []) }),
    ("empty list of elements", { $0.whereField("a", arrayContainsAny: []) }),
    ("eleven values", { $0.whereField("a", notIn: Array(0..<11)) }),
    ("two unequal", { $0.whereField("a", isNotEqualTo: 1).whereField("b", isNotEqualTo: 1) }),
    ("unequal and not in", { $0.whereField("a", isNotEqualTo: 1).whereField("b", notIn: [1]) }),
    ("in and not in", { $0.whereField("a", in: [1]).whereField("b", notIn: [1]) }),
    ("31 alternatives", { $0.whereField("a", in: Array(0..<31)) }),
    ("limit 0", { $0.limit(to: 0) }),
    ("last 0", { $0.order(by: "a").limit(toLast: 0) }),
    ("last without order", { $0.limit(toLast: 1) }),
    ("order after start", { $0.order(by: "a").start(at: [1]).order(by: "b") }),
    ("start without order", { $0.start(at: [1]) }),
    ("too many values", { $0.order(by: "a").end(before: [1, 2]) }),
    ("malformed field", { $0.whereField("a..b", isEqualTo: 1) }),
    ("forbidden character", { $0.order(by: "a/b") }),
    ("empty path", { $0.order(by: FieldPath([])) }),
    ("an instruction", { $0.whereField("a", isEqualTo: FieldValue.serverTimestamp()) }),
    ("an unknown type", { $0.whereField("a", isEqualTo: Locale.current) }),
    ("nested arrays", { $0.whereField("a", isEqualTo: [[1]]) }),
    ("a faulty part", { $0.whereFilter(.orFilter([.whereField("", isEqualTo: 1)])) }),
    ("an array on the id", { $0.whereField(FieldPath.documentID(), arrayContains: "x") }),
  ]

  @Test("What is invalid is told once to a listener, and to gets", arguments: cases.indices)
  func faults(index: Int) async throws {
    let (what, build) = Self.cases[index]
    let query = build(rooms)
    let told = Told<QuerySnapshot>()
    query.addSnapshotListener(told.add)
    query.getDocuments(completion: told.add)
    #expect(told.codes == [.invalidArgument, .invalidArgument], "\(what)")
    await #expect(throws: FirestoreError.self, "\(what)") { try await query.getDocuments() }
    await #expect(throws: FirestoreError.self, "\(what)") {
      try await query.whereField("z", isEqualTo: 1).count.getAggregation(source: .server)
    }
    await #expect(throws: FirestoreError.self, "\(what)") {
      for try await _ in query.snapshots { break }
    }
    #expect(world.engine.listens.isEmpty && world.engine.calls.isEmpty, "\(what)")
  }

  @Test("A range at a document needs one that exists, has the fields, and is of the database")
  func cursorFaults() throws {
    let ordered = rooms.order(by: "a")
    #expect(throws: FirestoreError.self) {
      try model(ordered.start(atDocument: world.snapshot("rooms/eros", nil)))
    }
    #expect(throws: FirestoreError.self) {
      try model(ordered.start(atDocument: world.snapshot("rooms/eros", ["b": 1])))
    }
    let pending = DocumentValue.serverTimestamp(written: .zero, previous: nil)
    #expect(throws: FirestoreError.self) {
      try model(ordered.end(atDocument: world.snapshot("rooms/eros", ["a": pending])))
    }
    #expect(throws: FirestoreError.self) {
      try model(ordered.end(atDocument: Recorded().snapshot("rooms/eros", ["a": 1])))
    }
  }

  @Test("Queries are equal when they ask the same")
  func equality() {
    let query = rooms.whereField("a", isEqualTo: 1).order(by: "b")
    #expect(query == rooms.whereField("a", isEqualTo: 1).order(by: "b"))
    #expect(Set([query, rooms.whereField("a", isEqualTo: 1).order(by: "b")]).count == 1)
    #expect(query != rooms.whereField("a", isEqualTo: 2).order(by: "b"))
    #expect(
      query != Recorded().firestore.collection("rooms").whereField("a", isEqualTo: 1).order(by: "b")
    )
    #expect(rooms == world.firestore.collection("rooms"))
    #expect(
      Filter.whereField("a", isEqualTo: 1) == Filter.whereField(FieldPath(["a"]), isEqualTo: 1))
  }

  @Test("Gets and listens pass on where from, and how")
  func options() throws {
    rooms.getDocuments(source: .cache) { _, _ in }
    world.firestore.document("rooms/eros").getDocument(source: .server) { _, _ in }
    #expect(world.engine.calls.map { $0.split(separator: " ").last } == ["cache", "server"])
    rooms.addSnapshotListener(includeMetadataChanges: true) { _, _ in }
    rooms.addSnapshotListener(
      options: SnapshotListenOptions().withSource(.cache).withIncludeMetadataChanges(true)
    ) { _, _ in }
    rooms.addSnapshotListener { _, _ in }
    let options = world.engine.listens.map(\.options)
    #expect(options.map(\.includesMetadataChanges) == [true, true, false])
    #expect(options.map { $0.source == .cache } == [false, true, false])
    #expect(Set(world.engine.listens.map(\.id)).count == 3)
  }

  @Test("What is kept synced is the query, or the document")
  func keep() throws {
    rooms.whereField("a", isEqualTo: 1).keepSynced(true)
    world.firestore.document("rooms/eros").keepSynced(false)
    #expect(world.engine.calls.map { $0.hasPrefix("keep true") } == [true, false])
    rooms.limit(to: 0).keepSynced(true)
    #expect(world.engine.calls.count == 2 && world.errors.all.count == 1)
  }
}
