import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferTree
import TestSupport
import Testing

@testable import ConiferServerHTTP

@Suite struct DocumentInspectionTests {
  /// A tree of documents: fields of all kinds, documents that are missing or only above others, a query, writes.
  private func withDocuments(
    _ body: (StoreInspection) async throws -> Void
  ) async throws {
    let backend = try StorageRegistry([.memory])
      .configuration("memory://", defaults: StorageOptions(budget: nil)).open()
    let tree = try await backend.tree(named: "shop", order: .documents)
    let lane = Lane(tree: tree, identity: "ann")
    let database = DatabaseID(project: "shop")
    let eros = try DocumentPath("rooms/eros")
    let fields: MapValue = [
      "name": "Eros", "size": 3, "at": ["floor": 2.5, "tags": ["a", nil]], "raw": .bytes([1, 2]),
      "time": .timestamp(try Timestamp(seconds: 1)), "open": true,
      "to": .reference(DocumentName(eros, in: database)),
    ]
    let documents = [
      Document(eros, .found(fields)), Document(try DocumentPath("rooms/__id7__"), .found([:])),
      Document(try DocumentPath("rooms/none"), .missing),
      Document(try DocumentPath("rooms/eros/messages/m1"), .found(["n": 1])),
      Document(try DocumentPath("rooms/eros/messages/m1/likes/l1"), .found(["n": 2])),
      Document(try DocumentPath("rooms/above/messages/m2"), .found(["n": 3])),
      Document(try DocumentPath("rooms-x/a"), .found(["n": 4])),
      Document(try DocumentPath("only/above/below/b"), .found(["n": 5])),
    ]
    try await backend.commit([.documents(tree, documents.map { .put($0) })])
    let target = DocumentQuery(.collection(try CollectionPath("rooms/eros/messages")), in: database)
      .target
    let batch = MutationBatch(
      [try Mutation.merge(eros, [("size", 4)], in: database)],
      written: try Timestamp(seconds: 2)
    ) { _ in documents[0] }
    let writes = MutationBatch(
      [
        try .set(
          DocumentPath("rooms/new"), [("name", "New"), ("at", .transform(.serverTimestamp))],
          in: database),
        try .update(
          eros,
          [(FieldPath(["name"]), .delete), (FieldPath(["size"]), .transform(.increment(1)))],
          in: database), try .delete(DocumentPath("rooms/none")),
      ], written: try Timestamp(seconds: 3)
    ) { _ in documents[0] }
    var record = TargetRecord()
    record.version = try Timestamp(seconds: 5)
    record.token = [1, 2, 3]
    let other = DocumentQuery(.collection(try CollectionPath("rooms-x")), in: database).target
    let saved = try await backend.commit([
      .saveQuery(TrackedQuery(lane, target, isComplete: true, resumeToken: record.bytes)),
      .saveQuery(TrackedQuery(lane, other)),
      .pin(Pin(tree: tree, path: "/rooms-x")), .enqueue(lane, batch.payload),
      .enqueue(lane, writes.payload),
    ])
    let message = try DocumentPath("rooms/eros/messages/m1")
    try await backend.commit([.documents(tree, [.setMatches(saved.queries[0], [message])])])
    try await body(StoreInspection(backend, title: "store"))
    try await backend.close()
  }

  private func keys(_ window: Node) -> [String] {
    window["children" as Key].children.map { $0.node["key" as Key].words }
  }

  @Test func `The tree shows collections, documents, their fields and what is below them`()
    async throws
  {
    try await withDocuments { page in
      let root = try await page.window("/", in: "shop")
      #expect(keys(root) == ["only", "rooms", "rooms-x"])
      #expect(root["/item/count" as Path] == 3)
      let rooms = try await page.window("/rooms", in: "shop")
      #expect(keys(rooms) == ["__id7__", "eros", "none", "above"])
      #expect(rooms["/children/1/count" as Path] == 7)
      #expect(rooms["/children/2/type" as Path] == "null")
      #expect(rooms["/children/3/type" as Path] == "object")
      let eros = try await page.window("/rooms/eros", in: "shop")
      #expect(keys(eros) == ["at", "name", "open", "raw", "size", "time", "to", "__collections__"])
      #expect(eros["/children/1/text" as Path] == "Eros")
      #expect(eros["/children/3/text" as Path] == "2 bytes")
      #expect(eros["/children/4/text" as Path] == "3")
      #expect(eros["/children/5/text" as Path] == "1970-01-01T00:00:01Z")
      #expect(eros["/children/6/text" as Path] == "→ rooms/eros")
      let tags = try await page.window("/rooms/eros/at/tags", in: "shop")
      #expect(keys(tags) == ["0", "1"] && tags["/children/1/type" as Path] == "null")
      let below = try await page.window("/rooms/eros/__collections__", in: "shop")
      #expect(keys(below) == ["messages"])
      let messages = try await page.window("/rooms/eros/__collections__/messages", in: "shop")
      #expect(keys(messages) == ["m1"])
      #expect(keys(try await page.window("/only", in: "shop")) == ["above"])
      #expect(keys(try await page.window("/only/above", in: "shop")) == ["__collections__"])
      let two = try await page.window("/rooms", limit: 2, in: "shop")
      #expect(keys(two) == ["__id7__", "eros"] && two["more" as Key] == true)
      for none in ["/nothing", "/rooms/eros/size/x", "/rooms/x/__collections__"] {
        #expect(try await page.window(none, in: "shop")["/item/type" as Path] == "null")
      }
    }
  }

  @Test func `Queries, pins and the queue name documents, and lead to them`() async throws {
    try await withDocuments { page in
      let queries = try await page.rows("queries", in: "shop")
      #expect(queries[0][0]["path" as Key] == "/rooms/eros/__collections__/messages")
      #expect(queries[0][0]["words" as Key].words.hasSuffix(" of ann"))
      #expect(try await page.rows("pins", in: "shop")[0][0]["path" as Key] == "/rooms-x")
      let queue = try await page.rows("queue", in: "shop")
      #expect(queue[0][3] == "merge" && queue[0][4]["path" as Key] == "/rooms/eros")
      #expect(queue[0][6]["time" as Key] == 2000)
      #expect(try await page.rows("bytes", in: "shop").isEmpty == false)
    }
  }

  @Test func `Collections are counted, and what writes do is told in words`() async throws {
    try await withDocuments { page in
      let info = try Node(
        json: try await page.answer(pageRequest("/.conifer/info.json")).text)
      let tables = info["tables" as Key].children.map { $0.node["name" as Key].words }
      #expect(tables.first == "collections" && tables.contains("overlays"))
      let collections = try await page.rows("collections", in: "shop")
      let places = collections.map { $0[0]["path" as Key].words }
      #expect(places.contains("/rooms/eros/__collections__/messages/m1/__collections__/likes"))
      let rooms = try #require(collections.first { $0[0]["path" as Key] == "/rooms" })
      #expect(rooms[1] == 3)
      let target = try await page.rows("queries", in: "shop")[0]
      #expect(target[1] == "yes" && target[2]["time" as Key] == 5000)
      #expect(target[3]["bytes" as Key] == 3 && target[4] == 1 && target[5] == "no")
      #expect(try await page.rows("queries", in: "shop")[1][5] == "yes")
      let queue = try await page.rows("queue", in: "shop")
      #expect(queue[0][5] == "merge rooms/eros: size = 4")
      #expect(
        queue[1][5]
          == "set rooms/new: name = \"New\", at = the server's time; update rooms/eros: name deleted, size + 1; delete rooms/none"
      )
      let overlays = try await page.rows("overlays", in: "shop")
      #expect(overlays.map { $0[0] } == ["ann", "ann", "ann"])
      #expect(overlays[0][1]["path" as Key] == "/rooms/eros")
      #expect(overlays[0][2] == "name deleted, size = 4")
      #expect(overlays[2][2] == "deleted")
    }
  }

  @Test func `An export has the form of the REST API`() async throws {
    try await withDocuments { page in
      func export(_ path: String) async throws -> Node {
        let response = try await page.answer(
          pageRequest("/.conifer/export.json", [("space", "shop"), ("path", path)]))
        return try Node(json: response.text)
      }
      #expect(try await export("/").childCount == 7)
      #expect(try await export("/rooms").childCount == 5)
      let one = try await export("/rooms/eros/__collections__/messages/m1")
      let root = "projects/shop/databases/(default)/documents"
      #expect(one["name" as Key].words == "\(root)/rooms/eros/messages/m1")
      #expect(one["/fields/n/integerValue" as Path] == "1")
    }
  }
}
