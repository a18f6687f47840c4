import ConiferKeyValue
import ConiferLMDB
import ConiferQuery
import ConiferStorage
import ConiferTree
import TestSupport
import Testing

@testable import ConiferServerHTTP

@Suite struct StoreInspectionTests {
  enum Kind: String, CaseIterable {
    case memory
    case lmdb
  }

  /// A client's store as it may be: two trees, queries, a pin, lanes with waiting and refused writes.
  private func withStore(
    _ kind: Kind, _ body: (any StorageBackend, TreeID) async throws -> Void
  ) async throws {
    let scratch = try Scratch()
    let registry = StorageRegistry([.memory, .lmdb])
    let url = kind == .memory ? "memory://" : "lmdb://\(scratch.store)"
    let backend = try registry.configuration(url, defaults: StorageOptions(budget: nil)).open()
    let tree = try await backend.tree(named: "host/ns u <1>")
    _ = try await backend.tree(named: "second")
    let spec = try QuerySpec.default.ordered(by: .key).limited(toFirst: 3)
    let nobody = Lane(tree: tree)
    let ada = Lane(tree: tree, identity: "ada")
    try await backend.commit([
      .overwrite(
        tree, "/rooms",
        [
          "r1": ["name": "Kitchen", "size": 3, "on": true], "r2": Node("leaf", priority: 5),
          "r3": Node(children: [("k", 1)], priority: "high"),
        ]),
      .overwrite(
        tree, "/big", Node(children: (0..<450).map { (Key("k\(1000 + $0)"), Node(.integer(1))) })),
      .saveQuery(TrackedQuery(tree: tree, path: "/rooms", isComplete: true, lastUse: 9)),
      .saveQuery(TrackedQuery(tree: tree, path: "/big", parameters: spec.identifier)),
      .pin(Pin(tree: tree, path: "/rooms/r1")),
      .enqueue(nobody, .set("/rooms/r1/name", "Attic", time: 1000)),
      .enqueue(ada, .set("/rooms/r2", "new", time: 2000)),
      .enqueue(ada, .set("/rooms/r3", .empty, time: 3000)),
    ])
    let refused = try #require(
      try backend.read { (view) throws(StoreError) in try view.writes(ada, after: nil, limit: 1) }
        .first)
    try await backend.commit([.setState(ada, refused.id, .sent)])
    try await backend.commit([
      .setState(ada, refused.id, .rejected(reason: "Permission denied"))
    ])
    try await backend.commit([
      .report(Incident(kind: .writeSetAside, tree: tree, place: "write 9", bytes: [1, 2, 3])),
      .report(Incident(kind: .recordSetAside, tree: tree, place: "elsewhere", bytes: [])),
    ])
    try await body(backend, tree)
    try await backend.close()
  }

  @Test(arguments: Kind.allCases)
  func `The cached tree is shown in windows`(kind: Kind) async throws {
    try await withStore(kind) { backend, tree in
      let page = StoreInspection(backend, title: "store")
      let facts = try await page.answer(pageRequest("/.conifer/info.json")).node()
      #expect(facts["spaces" as Key] == ["0": "host/ns u <1>", "1": "second"])
      #expect(facts["writable" as Key] == false)
      let space = "host/ns u <1>"
      #expect(
        try await page.window("/", in: space).shown == ["big object null", "rooms object null"])
      let rooms = try await page.window("/rooms", in: space)
      #expect(rooms.shown == ["r1 object null", "r2 string leaf", "r3 object null"])
      #expect(rooms["/children/1/priority" as Path] == "5")
      #expect(rooms["/children/2/priority" as Path] == "\"high\"")
      #expect(
        try await page.window("/rooms/r1", in: space).shown
          == ["name string Kitchen", "on boolean true", "size number 3"])
      let big = try await page.window("/big", in: space)
      #expect(big["children" as Key].childCount == 200 && big["more" as Key] == true)
      let all = try await page.window("/big", limit: 450, in: space)
      #expect(all["children" as Key].childCount == 450 && all["more" as Key] == false)
      #expect(all["/item/count" as Path] == 450)
      #expect(try await page.window("/", in: "second")["/item/type" as Path] == "null")
    }
  }

  @Test(arguments: Kind.allCases)
  func `Queries, pins, the queue and dead letters are listed`(kind: Kind) async throws {
    try await withStore(kind) { backend, tree in
      let page = StoreInspection(backend, title: "store")
      let space = "host/ns u <1>"
      let queries = try await page.rows("queries", in: space)
      #expect(queries.map { $0[0]["path" as Key].words } == ["/rooms", "/big"])
      #expect(queries.map { $0[0]["words" as Key].words } == ["", "orderBy .key, limitToFirst 3"])
      #expect(queries.map { $0[1].words } == ["yes", "no"])
      #expect(
        try await page.rows("pins", in: space).map { $0[0]["path" as Key].words } == ["/rooms/r1"])
      let queue = try await page.rows("queue", in: space)
      #expect(queue.map { $0[0].words } == ["nobody", "ada"])
      #expect(queue.map { $0[2].words } == ["queued", "queued"])
      #expect(queue.map { $0[3].words } == ["set", "set"])
      #expect(queue.map { $0[4]["path" as Key].words } == ["/rooms/r1/name", "/rooms/r3"])
      #expect(queue.map { $0[6]["time" as Key] } == [1000, 3000])
      let dead = try await page.rows("dead", in: space)
      #expect(dead.map { $0[0].words } == ["rejected", "set aside"])
      #expect(dead[0][1] == "ada" && dead[0][4]["path" as Key] == "/rooms/r2")
      #expect(dead[0][5] == "Permission denied")
      #expect(dead[1][5] == "damaged at write 9, 3 bytes kept")
      // Their bytes are more than a window of reports has.
      for number in 0..<4 {
        let large = Incident(
          kind: .writeSetAside, tree: tree, place: "large \(number)",
          bytes: Array(repeating: 1, count: 600_000))
        try await backend.commit([.report(large)])
      }
      #expect(try await page.rows("dead", in: space).count == 6)
      #expect(try await page.rows("dead", in: space, limit: 4).count == 4)
      #expect(try await page.rows("queue", in: space, limit: 1).count == 1)
      #expect(try await page.rows("queue", in: "second").isEmpty)
    }
  }

  @Test(arguments: Kind.allCases)
  func `Bytes are those of usage`(kind: Kind) async throws {
    try await withStore(kind) { backend, tree in
      let page = StoreInspection(backend, title: "store")
      let usage = try backend.read { (view) throws(StoreError) in try view.usage(tree) }
      let rows = try await page.rows("bytes", in: "host/ns u <1>")
      let own = Dictionary(uniqueKeysWithValues: rows.map { ($0[0].words, $0[1]) })
      #expect(own["queue"]?["bytes" as Key] == Node(.integer(Int64(usage.queue))))
      #expect(own["all records"]?["bytes" as Key] == Node(.integer(Int64(usage.total))))
      #expect(own["leaves"] == Node(.integer(Int64(usage.leaves))) && usage.leaves >= 455)
    }
  }

  @Test(arguments: Kind.allCases)
  func `An export is the cached node`(kind: Kind) async throws {
    try await withStore(kind) { backend, tree in
      let page = StoreInspection(backend, title: "store")
      for path: Path in ["/", "/rooms", "/rooms/r2", "/rooms/r3", "/none", "/big"] {
        let stored = try backend.read { (view) throws(StoreError) in try view.node(tree, path) }
        let response = try await page.answer(
          pageRequest(
            "/.conifer/export.json", [("space", "host/ns u <1>"), ("path", path.description)]))
        #expect(try Node(json: response.text) == stored)
      }
      let none = try await page.answer(
        pageRequest("/.conifer/export.json", [("space", "none")]))
      #expect(none.status == 404)
    }
  }

  @Test func `Looking at a store changes not a byte of it`() async throws {
    let scratch = try Scratch()
    let backend = try StorageRegistry([.lmdb]).configuration(
      "lmdb://\(scratch.store)", defaults: StorageOptions(budget: nil)
    ).open()
    let tree = try await backend.tree(named: "main")
    try await backend.commit([
      .overwrite(tree, "/a", ["b": 1]), .enqueue(Lane(tree: tree), .set("/a/c", 2)),
    ])
    let files = Scratch.files(scratch.store).filter {
      $0.hasSuffix(".mdb") && !$0.hasSuffix("lock.mdb")
    }
    #expect(!files.isEmpty)
    let before = files.map(Scratch.read)
    let page = StoreInspection(backend, title: "store")
    _ = try await page.window("/", in: "main")
    for table in StoreTable.allCases { _ = try await page.rows(table.rawValue, in: "main") }
    _ = try await page.answer(pageRequest("/.conifer/export.json", [("space", "main")]))
    #expect(files.map(Scratch.read) == before)
    for method in ["PUT", "POST", "PATCH", "DELETE"] {
      #expect(await page.respond(to: pageRequest("/a.json", method: method, body: "1")) == nil)
      let refused = try await page.answer(
        pageRequest("/.conifer/export.json", method: method, body: "1"))
      #expect(refused.status == 405)
    }
    try await backend.close()
  }
}
