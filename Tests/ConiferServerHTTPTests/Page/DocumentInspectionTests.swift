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
    try await backend.commit([
      .saveQuery(TrackedQuery(lane, target, isComplete: true)),
      .pin(Pin(tree: tree, path: "/rooms-x")), .enqueue(lane, batch.payload),
    ])
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
