import ConiferDocument
import ConiferDocumentServer
import ConiferKeyValue
import ConiferServer
import ConiferServerHTTP
import ConiferStorage
import ConiferWire
import TestSupport
import Testing

/// Databases under names that anybody makes up.
@Suite struct DocumentDatabaseTests {
  private static func root(_ name: String) -> String {
    "projects/\(name)/databases/(default)/documents"
  }

  @Test("Whoever only asks makes no database, and only so many stay in memory")
  func madeUp() async throws {
    let backend = try StorageConfiguration.memory(StorageOptions(role: .authority)).open()
    var configuration = DocumentServerConfiguration()
    configuration.bounds.idle = 3
    let server = try DocumentServer(in: backend, configuration)
    let responder = DocumentRESTResponder(server)
    func ask(_ line: String, _ body: String = "") async -> RESTReply {
      RESTReply(await responder.respond(to: RESTClient.request(line, Array(body.utf8))))
    }
    func trees() throws -> [String] {
      try backend.read { (view) throws(StoreError) in try view.trees().map(\.name) }
    }
    for number in 0..<20 {
      let root = Self.root("p\(number)")
      #expect(await ask("GET /v1/\(root)/r/a").status == 404)
      #expect(await ask("GET /v1/\(root)/r").body == "{}")
      #expect(await ask("POST /v1/\(root):listCollectionIds").body == "{}")
      #expect(await ask("DELETE /v1/\(root)/r/a?currentDocument.exists=true").status == 404)
      #expect(await ask("DELETE /emulator/v1/\(root)").status == 200)
    }
    #expect(try trees() == [])
    #expect(server.hostCount == 3)
    #expect(await ask("PATCH /v1/\(Self.root("p1"))/r/a").status == 200)
    #expect(try trees().count == 2)
    for number in 0..<20 { _ = await ask("GET /v1/\(Self.root("q\(number)"))/r/a") }
    // One that left the memory is in the store.
    #expect(await ask("GET /v1/\(Self.root("p1"))/r/a").status == 200)
    #expect(await ask("DELETE /emulator/v1/\(Self.root("p1"))").status == 200)
    #expect(try trees() == [])
    #expect(await ask("GET /v1/\(Self.root("p1"))/r/a").status == 404)
    try await server.close()
    // The store is its owner's.
    _ = try await backend.tree(named: "still open")
    try await backend.close()
  }

  @Test("Only so many databases are made, and only so many are used at once")
  func bounds() async throws {
    var bounds = DocumentServerBounds()
    bounds.databases = 2
    let client = try DocumentRESTClient(bounds: bounds)
    for name in ["a", "b"] {
      #expect(await client.ask("PATCH /r/a", in: Self.root(name)).status == 200)
    }
    let more = await client.ask("PATCH /r/a", in: Self.root("c"))
    #expect(more.status == 429 && more.body.contains("2 databases"), "\(more.body)")
    #expect(await client.ask("GET /r/a", in: Self.root("c")).status == 404)
    #expect(await client.ask("PATCH /r/b", in: Self.root("a")).status == 200)
    #expect(await client.raw("DELETE /emulator/v1/\(Self.root("a"))").status == 200)
    #expect(await client.ask("PATCH /r/a", in: Self.root("c")).status == 200)
    bounds.used = 0
    let none = try DocumentRESTClient(bounds: bounds)
    await none.refuses("GET /r/a", 429, "RESOURCE_EXHAUSTED", "in use")
  }

  @Test("Of databases that nobody uses only so many bytes of histories stay in memory")
  func histories() async throws {
    var bounds = DocumentServerBounds()
    bounds.histories = 1 << 20
    let client = try DocumentRESTClient(bounds: bounds)
    let text = String(repeating: "x", count: 100_000)
    let body = #"{"fields":{"a":{"stringValue":"\#(text)"}}}"#
    for number in 0..<20 {
      #expect(await client.ask("PATCH /r/a", body, in: Self.root("p\(number)")).status == 200)
    }
    #expect((5...11).contains(client.server.hostCount), "\(client.server.hostCount)")
    for number in 0..<20 {
      #expect(await client.ask("GET /r/a", in: Self.root("p\(number)")).status == 200)
    }
    #expect((5...11).contains(client.server.hostCount), "\(client.server.hostCount)")
  }

  @Test("A store of the tree's server holds documents too, but not one that may drop data")
  func shared() async throws {
    let scratch = try Scratch()
    let cache = try DocumentTestStore.lmdb.configuration(scratch).open()
    #expect(code { () throws(StoreError) in _ = try DocumentServer(in: cache) } == .invalid)
    try await cache.close()
    let backend = try DocumentTestStore.lmdb.configuration(scratch)
      .with(StorageOptions(role: .authority)).open()
    let tree = Server()
    try await tree.open("default", in: backend)
    let server = try DocumentServer(in: backend)
    let responders: [any HTTPResponder] = [DocumentRESTResponder(server), RESTResponder(tree)]
    func ask(_ line: String, _ body: String = "") async -> RESTReply {
      for responder in responders {
        let request = RESTClient.request(line, Array(body.utf8))
        if let response = await responder.respond(to: request) { return RESTReply(response) }
      }
      return RESTReply(nil)
    }
    #expect(await ask("PUT /v1/projects.json", "1").status == 200)
    #expect(await ask("PATCH /v1/\(Self.root("p"))/r/a.json", "").status == 200)
    #expect(await ask("GET /v1/projects.json").body == "1")
    #expect(await ask("GET /v1/\(Self.root("p"))/r/a.json").body.contains("createTime"))
    await tree.waitUntilIdle("default")
    try await server.close()
    try await backend.close()
  }

  @Test("Listeners are told a reset")
  func listeners() async throws {
    let client = try DocumentRESTClient()
    var documents: [String: [String: Int64]] = [:]
    for number in 0..<1200 { documents["r\(number % 3)/\(number)/s/x"] = [:] }
    try await client.make(documents)
    let link = DocumentLink(to: DatabaseID(project: "p"), of: client.server)
    let told = Gathered<String>()
    let stream = link.transport.service.openWatch(token: nil) { event in told.add("\(event)") }
    try await eventually("The stream does not open.") { !told.take().isEmpty }
    #expect(await client.raw("DELETE /emulator/v1/\(DocumentRESTClient.root)").status == 200)
    await client.expect("POST :listCollectionIds", "{}")
    stream.close()
  }
}
