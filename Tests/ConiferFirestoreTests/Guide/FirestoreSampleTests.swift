import ConiferDocument
import ConiferDocumentServer
import ConiferEngine
import ConiferSQLite
import ConiferStorage
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ConiferFirestore

/// The code of Docs/Firestore.md does what the page says.
@Suite("The samples of the page on documents")
struct FirestoreSampleTests {
  @Test("Offline, all is written, listened to, queried, counted, coded and followed")
  func offline() async throws {
    let scratch = try Scratch()
    let db = FirestoreSamples.open(.sqlite(at: scratch.store), nil)
    #expect(db.configuration.cacheSizeBytes == 50 << 20)
    FirestoreSamples.write(db) { _ in }
    _ = FirestoreSamples.batch(db)
    // Where the machine is so busy that the provider takes more than its 30 seconds, reads are answered before the write.
    var found: DocumentSnapshot?
    try await eventually("the write is not there") {
      found = try? await db.document("rooms/eros").getDocument(source: .cache)
      return found != nil
    }
    let eros = try #require(found)
    #expect(eros.get("size") as? Int == 4 && eros.get("address.floor") as? Int == 3)
    #expect(eros.get("tags") as? [String] == ["quiet"] && eros.get("next") as? String == "zeus")
    #expect(eros.get("edited") is NSNull)
    let told = Gathered<String>()
    let listener = FirestoreSamples.listen(db) { told.add($0) }
    while told.all.isEmpty { await Task.yield() }
    #expect(told.all == ["eros at 0"])
    listener.remove()
    var names: [String] = []
    try await FirestoreSamples.sequences(db) { snapshot in
      names = snapshot.documents.map(\.documentID)
      return false
    }
    #expect(names == ["eros"])
    let (name, open) = try await FirestoreSamples.once(db)
    #expect(name == "Eros" && open == 1)
    #expect(try await FirestoreSamples.query(db).getDocuments().isEmpty)
    #expect(try await FirestoreSamples.aggregate(db) == 4)
    let rooms = try await FirestoreSamples.coding(db)
    #expect(rooms.map(\.name) == ["Hermes"] && rooms[0].id?.count == 20 && rooms[0].built == nil)
    let all = try await db.collection("rooms").getDocuments()
    #expect(FirestoreSamples.freshness(all) == "what this device happens to have")
    #expect(try await FirestoreSamples.presence(db.document("rooms/eros")) == "there")
    #expect(try await FirestoreSamples.presence(db.document("rooms/old")).hasPrefix("deleted"))
    FirestoreSamples.keep(db)
    try await FirestoreSamples.indexes(db, BundleTests.json)
    let text = try await FirestoreSamples.receipt(db.document("rooms/attic"))
    let id = try #require(WriteReceipt.ID(String(text.prefix { $0 != " " })))
    try await db.discard(id)
    let shown = Gathered<String>()
    try await FirestoreSamples.outcome(db, id.description) { shown.add($0) }
    #expect(shown.all == ["given up"])
    try await FirestoreSamples.refusals(db)
    try await db.terminate()
  }

  @Test("A transaction and a write that is waited for reach the server")
  func online() async throws {
    let world = Recorded()
    let found = Document(
      try DocumentPath("rooms/eros"), .found(["size": 3]), version: try .init(microseconds: 7))
    world.engine.answer { $0.documents = [[found]] }
    #expect(try await FirestoreSamples.transaction(world.firestore) == 4)
    #expect(world.engine.answer { $0.commits.count } == 1)
    let firestore = world.firestore
    async let receipt = FirestoreSamples.writeAndWait(firestore)
    while world.engine.writes.isEmpty { await Task.yield() }
    world.engine.end()
    _ = try await receipt
    #expect(world.engine.writes.count == 2)
  }
  @Test("The README's sample hears of its write, has it on disk, and the server accepts it")
  func readme() async throws {
    let server = try DocumentServer()
    let database = DatabaseID(project: "my-app")
    let scratch = try Scratch()
    let told = Gathered<String>()
    let listener = try await FirestoreSamples.readme(
      scratch.store, server.transport(to: database)
    ) { told.add($0) }
    while !told.all.contains("Eros") { await Task.yield() }
    #expect(told.all.contains("queued, power"))
    listener.remove()
    let eros = try await server.document(DocumentPath("rooms/eros"), in: database)
    #expect(eros?.fields["name"] == "Eros")
    try await server.close()
  }
}
