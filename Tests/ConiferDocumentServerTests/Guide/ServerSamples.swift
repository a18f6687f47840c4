import ConiferDocument
import ConiferDocumentServer
import ConiferLog
import ConiferStorage
import ConiferWire
import TestSupport
import Testing

/// The code of Docs/DocumentServer.md.
enum ServerSamples {
  static func begin() async throws -> (StoredDocument?, DocumentTransport) {
    let server = try DocumentServer()
    let database = DatabaseID(project: "my-app")
    let eros = try DocumentPath("rooms/eros")
    try await server.commit(
      [.set(eros, [("name", "Eros"), ("size", 3)], in: database)], in: database)
    let transport = server.transport(to: database)
    let found = try await server.document(eros, in: database)
    return (found, transport)
  }

  static func stays(_ directory: String) async throws {
    let server = try DocumentServer(
      DocumentServerConfiguration(storage: .log(at: directory)))
    let rooms = DocumentQuery(
      .collection(try CollectionPath("rooms")), in: DatabaseID(project: "my-app"))
    let found = try await server.documents(rooms.limited(to: 10))
    try await server.close()
    #expect(found.isEmpty)
  }

  static func access() throws -> DocumentServer {
    let owner = try FieldPath(["owner"])
    let access = DocumentAccess(
      user: { token in token == "t1" ? DocumentUser("ada") : nil },
      allows: { user, request in
        switch request {
        case .get(_, let fields): fields?[owner] == user.map { .string($0.id) }
        case .list(let target): target.limit != nil
        case .write(_, _, let after): user != nil && after?[owner] != nil
        }
      })
    return try DocumentServer(DocumentServerConfiguration(access: access))
  }

  static func faults(_ server: DocumentServer, _ database: DatabaseID) -> DocumentLink {
    let link = DocumentLink(to: database, of: server)
    link.loseAnswers(next: 1)
    link.delay(.milliseconds(10) ... .milliseconds(200), .toClient)
    link.cut(after: 3, .toServer)
    link.isReachable = false
    return link
  }

  static func pump(_ server: DocumentServer, _ database: DatabaseID) async -> Int {
    let pump = DocumentPump(seed: 7)
    let link = DocumentLink(to: database, of: server, .pump(pump), seed: 7)
    link.faults = LinkFaults(refusedOpens: 0.1, cuts: 0.02, lostAnswers: 0.1)
    link.delay(.zero ... .milliseconds(50))
    let delivered = await pump.run(server)
    return delivered
  }
}

@Suite struct ServerSampleTests {
  @Test("The code of the page on the server of documents does what the page says")
  func samples() async throws {
    let (found, _) = try await ServerSamples.begin()
    #expect(found?.fields == ["name": "Eros", "size": 3])
    let scratch = try Scratch()
    try await ServerSamples.stays(scratch.store)
    let server = try ServerSamples.access()
    let service = server.transport(to: database).service
    _ = try await service.commit([set("a/1", [("owner", "ada")])], token: "t1")
    await #expect(throws: StatusError.self) {
      try await service.lookup([document("a/1")], token: nil)
    }
    #expect(!ServerSamples.faults(server, database).isReachable)
    #expect(await ServerSamples.pump(server, database) == 0)
  }
}
