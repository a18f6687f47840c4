import ConiferDocument
import ConiferDocumentServer
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import TestSupport
import Testing

/// What commits do, and which are refused.
@Suite struct CommitTests {
  @Test(
    "A document keeps the time it was made and has that of its last change",
    arguments: TestStore.allCases)
  func times(_ store: TestStore) async throws {
    let rig = try Rig(store)
    let made = try await rig.commit(set("rooms/eros", [("size", 3)]))
    rig.clock.advance(5)
    let changed = try await rig.commit(merge("rooms/eros", [("name", "Eros")]))
    let found = try await rig.server.document(document("rooms/eros"), in: database)
    #expect(found?.createTime == made)
    #expect(found?.updateTime == changed)
    #expect(made < changed)
    #expect(found?.fields == ["size": 3, "name": "Eros"])
    try await rig.commit(delete("rooms/eros"))
    #expect(try await rig.server.document(document("rooms/eros"), in: database) == nil)
    let again = try await rig.commit(set("rooms/eros", []))
    #expect(
      try await rig.server.document(document("rooms/eros"), in: database)?.createTime == again)
    try await rig.server.close()
  }

  @Test("The store has when a document was made in its place, and reads it in an old one")
  func creationTime() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    let made = try await rig.commit(set("a/new", [("n", 1)]))
    rig.clock.advance(5)
    try await rig.commit(merge("a/new", [("m", 2)]))
    let tree = try await backend.tree(named: "\(database)", order: .documents)
    func stored(_ path: String) throws -> Document {
      try backend.readDocuments { (view) throws(StoreError) in
        try view.document(tree, document(path))
      }
    }
    #expect(try stored("a/new").createTime == made && stored("a/new").readTime == .zero)
    // What an old server has stored, and what was imported.
    func put(_ path: String, readTime: Timestamp, createTime: Timestamp?) async throws {
      let found = Document(
        document(path), .found(["n": 1]), version: rig.clock.now, readTime: readTime,
        createTime: createTime)
      _ = try await backend.commit([.documents(tree, [.put(found)])], .relaxed)
    }
    let (early, late) = (try Timestamp(seconds: 1), try Timestamp(seconds: 2))
    try await put("a/old", readTime: early, createTime: nil)
    try await put("a/imported", readTime: late, createTime: early)
    for path in ["a/old", "a/imported"] {
      try await rig.commit(merge(path, [("m", 2)]))
      let found = try await rig.server.document(document(path), in: database)
      #expect(found?.createTime == early, "\(path)")
      #expect(try stored(path).createTime == early, "\(path)")
    }
    try await rig.server.close()
  }

  @Test("Preconditions that do not hold are refused with the service's codes")
  func preconditions() async throws {
    let rig = try Rig()
    let first = try await rig.commit(set("rooms/eros", [("size", 3)]))
    let second = try await rig.commit(set("rooms/eros", [("size", 4)]))
    #expect(try await rig.refusal(update("rooms/none", [("size", 1)]))?.code == .notFound)
    #expect(try await rig.refusal(delete("rooms/none", if: .exists(true)))?.code == .notFound)
    #expect(
      try await rig.refusal(set("rooms/eros", [], if: .exists(false)))?.code == .alreadyExists)
    #expect(
      try await rig.refusal(set("rooms/eros", [], if: .updateTime(first)))?.code
        == .failedPrecondition)
    #expect(
      try await rig.refusal(set("rooms/none", [], if: .updateTime(first)))?.code
        == .failedPrecondition)
    #expect(
      try await rig.refusal(.verify(document("rooms/eros"), if: .updateTime(first)))?.code
        == .failedPrecondition)
    #expect(try await rig.refusal(.verify(document("rooms/eros"), if: .updateTime(second))) == nil)
    #expect(try await rig.refusal(set("rooms/eros", [], if: .updateTime(second))) == nil)
    #expect(try await rig.refusal(set("rooms/new", [], if: .exists(false))) == nil)
  }

  @Test("A commit with one write that is refused changes nothing", arguments: TestStore.allCases)
  func whole(_ store: TestStore) async throws {
    let rig = try Rig(store)
    try await rig.commit(set("rooms/a", [("n", 1)]))
    let refusal = try await rig.refusal(
      set("rooms/a", [("n", 2)]), set("rooms/b", []), update("rooms/none", [("n", 1)]))
    #expect(refusal?.code == .notFound)
    #expect(try await rig.server.document(document("rooms/a"), in: database)?.fields == ["n": 1])
    #expect(try await rig.server.document(document("rooms/b"), in: database) == nil)
    try await rig.server.close()
  }

  @Test("A commit with more than a request may have is refused, and changes nothing")
  func tooLarge() async throws {
    let rig = try Rig()
    let text = WriteValue.value(.string(String(repeating: "x", count: 900_000)))
    let many = try (0...DocumentLimits.writes).map { try set("a/r\($0)", [("n", 1)]) }
    let large = try (0..<12).map { try set("a/r\($0)", [("t", text)]) }
    for writes in [many, large] {
      let error = await #expect(throws: StatusError.self) {
        _ = try await rig.service.commit(writes, token: nil)
      }
      #expect(error?.code == .invalidArgument)
    }
    #expect(try await rig.server.document(document("a/r0"), in: database) == nil)
    try await rig.server.close()
  }

  @Test("Writes of one commit see each other, and share one time")
  func together() async throws {
    let rig = try Rig()
    let result = try await rig.service.commit(
      [
        set("rooms/a", [("n", 1)]), merge("rooms/a", [("n", .increment(2))]),
        set("rooms/b", [("at", .serverTimestamp)]), delete("rooms/a"), set("rooms/a", [("m", 7)]),
      ], token: nil)
    #expect(result.results[1].transforms == [3])
    #expect(result.results[2].transforms == [.timestamp(result.commitTime)])
    #expect(result.results[3].updateTime == nil)
    #expect(result.results[4].updateTime == result.commitTime)
    let a = try await rig.server.document(document("rooms/a"), in: database)
    #expect(a?.fields == ["m": 7])
    #expect(a?.updateTime == result.commitTime)
  }

  @Test("Transforms are done after the rest of a write, and their results answered")
  func transforms() async throws {
    let rig = try Rig()
    try await rig.commit(
      set("a/1", [("n", 5), ("d", 1.5), ("list", .array([1, 2])), ("s", "text")]))
    let result = try await rig.service.commit(
      [
        update(
          "a/1",
          [
            ("n", .increment(3)), ("d", .maximum(2)), ("s", .increment(4)), ("new", .minimum(9)),
            ("list", .arrayUnion([2, 3])), ("m.at", .serverTimestamp), ("x", true),
          ])
      ], token: nil)
    let time = DocumentValue.timestamp(result.commitTime)
    #expect(result.results[0].transforms == [8, 2.0, 4, 9, .null, time])
    let found = try await rig.server.document(document("a/1"), in: database)
    #expect(
      found?.fields == [
        "n": 8, "d": 2.0, "s": 4, "new": 9, "list": [1, 2, 3], "m": ["at": time], "x": true,
      ])
    try await rig.commit(update("a/1", [("list", .arrayRemove([2])), ("x", .delete)]))
    let after = try await rig.server.document(document("a/1"), in: database)
    #expect(after?.fields["list"] == [1, 3])
    #expect(after?.fields["x"] == nil)
  }

  @Test("A write that changes nothing leaves the version as it is, and listeners are told nothing")
  func nothing() async throws {
    let rig = try Rig()
    let made = try await rig.commit(set("rooms/eros", [("size", 3)]))
    let listener = Listener(rig.link().transport.service)
    try listener.add(2, query("rooms"))
    await rig.waitUntilIdle()
    _ = listener.take()
    let result = try await rig.service.commit([set("rooms/eros", [("size", 3)])], token: nil)
    #expect(result.results[0].updateTime == made)
    await rig.waitUntilIdle()
    #expect(listener.take() == [])
  }

  @Test("What the model does not take the server does not take either")
  func limits() async throws {
    let rig = try Rig()
    let path = document("rooms/eros")
    func refused(_ fields: MapValue, _ mask: FieldMask? = nil) async -> StatusCode? {
      let change = mask.map { Mutation.Change.patch(fields, $0, []) } ?? .set(fields, [])
      return await rig.refusal(Mutation(path, change))?.code
    }
    let other = DocumentName(path, in: DatabaseID(project: "other"))
    #expect(await refused(["a": .reference(other)]) == .invalidArgument)
    #expect(await refused(["__a__": 1]) == .invalidArgument)
    #expect(await refused(["a": [[1]]]) == .invalidArgument)
    #expect(
      await refused(["a": .string(String(repeating: "x", count: 1 << 20))]) == .invalidArgument)
    let deep = (0..<21).reduce(DocumentValue.null) { value, _ in .map(["a": value]) }
    #expect(await refused(["a": deep]) == .invalidArgument)
    #expect(
      await refused(["a": ["b": 1]], FieldMask([field("a"), field("a.b")])) == .invalidArgument)
    #expect(
      await rig.refusal(Mutation(document("rooms/__x__"), .set(.empty, [])))?.code
        == .invalidArgument)
    #expect(await refused(["a": 1]) == nil)
    // Two halves that are too large together.
    let half = DocumentValue.string(String(repeating: "x", count: 600_000))
    try await rig.commit(Mutation(path, .set(["a": half], [])))
    #expect(await refused(["b": half], FieldMask([field("b")])) == .invalidArgument)
    let many = (0..<20).map { Mutation(document("rooms/\($0)"), .set(["a": half], [])) }
    let refusal: StatusError?
    do throws(StatusError) {
      _ = try await rig.service.commit(many, token: nil)
      refusal = nil
    } catch { refusal = error }
    #expect(refusal?.code == .invalidArgument)
  }

  @Test("What transforms and masks bring counts for the size of a request")
  func sizeOfTransforms() async throws {
    let rig = try Rig()
    try await rig.commit(set("a/1", [("list", .array([1]))]))
    let elements = (0..<11).map {
      DocumentValue.string("\($0)" + String(repeating: "x", count: 1_000_000))
    }
    #expect(
      try await rig.refusal(update("a/1", [("list", .arrayRemove(elements))]))?.code
        == .invalidArgument)
    #expect(
      try await rig.refusal(update("a/1", [("list", .arrayRemove(Array(elements.prefix(9))))]))
        == nil)
    let names = try (0..<8000).map {
      try FieldPath(["\($0)" + String(repeating: "x", count: 1400)])
    }
    #expect(
      await rig.refusal(Mutation(document("a/1"), .patch(.empty, FieldMask(names), [])))?.code
        == .invalidArgument)
  }

  @Test(
    "A path as long as the service takes is kept and found, also in the history",
    arguments: TestStore.allCases)
  func longPaths(_ store: TestStore) async throws {
    let rig = try Rig(store)
    let segment = String(repeating: "x", count: 1400)
    let path = "\(segment)/\(segment)/\(segment)/\(segment)"
    let listener = Listener(rig.link().transport.service)
    listener.add(2, group(segment))
    try await rig.commit(set(path, [("n", 1)]))
    try await rig.commit(set(path, [("n", 2)]))
    await rig.waitUntilIdle()
    #expect(listener.paths(2) == [path])
    #expect(try await rig.server.document(document(path), in: database)?.fields == ["n": 2])
    try await rig.server.close()
  }

  @Test(
    "Times only grow, whatever the clock does, also across restarts", arguments: TestStore.onDisk)
  func growing(_ store: TestStore) async throws {
    var rig = try Rig(store)
    var last = try await rig.commit(set("a/1", [("n", 0)]))
    for round in 1...6 {
      rig.clock.advance(round % 2 == 0 ? -1000 : 10)
      let time = try await rig.commit(set("a/1", [("n", .value(.integer(Int64(round))))]))
      #expect(time > last)
      last = time
      if round == 3 { rig = try await rig.restarted(store) }
    }
    try await rig.server.close()
  }

  @Test("Commits that come at once are each whole and in one order")
  func atOnce() async throws {
    let rig = try Rig()
    try await rig.commit(set("a/1", [("n", 0)]))
    let service = rig.service
    let times = try await withThrowingTaskGroup(of: CommitResult.self) { group in
      for _ in 0..<50 {
        group.addTask {
          try await service.commit(
            [merge("a/1", [("n", .increment(1))]), merge("a/2", [("n", .increment(1))])], token: nil
          )
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(times.map(\.commitTime)).count == 50)
    #expect(Set(times.map { $0.results[0].transforms }) == Set((1...50).map { [.integer($0)] }))
    #expect(times.allSatisfy { $0.results[0].transforms == $0.results[1].transforms })
  }
}
