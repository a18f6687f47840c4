import ConiferDocument
import ConiferEngine
import ConiferSQLite
import ConiferStorage
import ConiferWire
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import ConiferFirestore

/// What the vendor's guide to offline data promises, by its own lines, on the database of the class.
@Suite("The guide to offline data")
struct OfflineGuideTests {
  private let server = EngineServer()
  private let clock = ScriptedClock()

  /// Waits until something is so that other threads bring about.
  private func until(_ isSo: () -> Bool) async {
    while !isSo() {
      _ = server.deliver()
      await Task.yield()
    }
  }

  private func city(
    _ id: String, _ fields: MapValue, to targets: [TargetID], at micros: Int64
  ) throws {
    server.say(
      .document(
        Document(
          try DocumentPath("cities/\(id)"), .found(fields),
          version: try .init(microseconds: micros)), matching: targets))
  }

  @Test("The guide's lines compile, and do what the guide says")
  func guide() async throws {
    let scratch = try Scratch()
    var configuration = FirestoreConfiguration(
      projectID: "guide", storage: .sqlite(at: scratch.store),
      transport: DocumentTransport(server, description: "a script"))
    configuration.clock = clock
    configuration.housekeeping = .off
    configuration.random = { .max / 2 }
    configuration.logger.logLevel = .critical
    Firestore.configure(configuration)

    // Persistence is on unless it is turned off, and the size of the cache can be chosen.
    let db = OfflineGuide.persistence()
    #expect(db === Firestore.firestore())
    #expect(db.configuration.isPersistenceEnabled)
    #expect(db.configuration.cacheSizeBytes == 100 << 20)
    OfflineGuide.cacheSize()
    #expect(db.configuration.cacheSizeBytes == nil)
    OfflineGuide.indexes()
    let engine = try #require(try db.engine() as? FirestoreEngine)
    let indexes = try await engine.indexes()
    #expect(indexes.count == 1 && "\(indexes)".contains("cities"))

    // Listeners say where data comes from, when they are asked to.
    let printed = Gathered<String>()
    OfflineGuide.listen(db) { printed.add($0) }
    await until { !server.targets.isEmpty }
    let id = try #require(server.targets.keys.first)
    server.say(.targets(.added, [id]))
    try city("SF", ["state": "CA", "population": 860_000], to: [id], at: 1000)
    server.say(.targets(.current, [id], resumeToken: [1]))
    server.say(.targets(.noChange, []), at: 1000)
    await until { !printed.all.isEmpty }
    await until { printed.all.contains("Metadata: Data fetched from server") }
    #expect(printed.all.filter { $0.hasPrefix("New city") && $0.contains("860000") }.count == 1)

    // Without the network, listeners turn to the cache, and writes wait.
    let isOffline = Gathered<Bool>()
    OfflineGuide.disable { isOffline.add(true) }
    await until { !isOffline.all.isEmpty }
    await until { printed.all.last == "Metadata: Data fetched from local cache" }
    let written = Ends()
    db.collection("cities").document("LA")
      .setData(["state": "CA", "population": 3_900_000], completion: written.add)
    await until { printed.all.contains { $0.contains("3900000") } }

    // A document that is not here is an error, a query that finds nothing is empty, and new queries
    // find what is here.
    await #expect(throws: FirestoreError.self) {
      try await db.document("cities/Paris").getDocument()
    }
    #expect(try await db.collection("villages").getDocuments().isEmpty)
    let known = try await db.document("cities/SF").getDocument()
    #expect(known.metadata.isFromCache && known.get("state") as? String == "CA")
    let largest = try await db.collection("cities").whereField("state", isEqualTo: "CA")
      .order(by: "population", descending: true).limit(to: 1).getDocuments()
    #expect(largest.documents.map(\.documentID) == ["LA"])
    #expect(written.all.isEmpty)

    // With the network, the write is made.
    let isOnline = Gathered<Bool>()
    OfflineGuide.enable { isOnline.add(true) }
    await until { !isOnline.all.isEmpty && !server.sent.isEmpty }
    try server.accept(at: 2000)
    await until { !written.all.isEmpty }
    #expect(written.all == [nil])

    // What was listened to is here in the next run of the app.
    try await db.terminate()
    server.drop()
    let again = Firestore.firestore()
    #expect(again !== db)
    try await again.disableNetwork()
    let kept = try await again.collection("cities").order(by: "population").getDocuments()
    #expect(kept.documents.map(\.documentID) == ["SF", "LA"])
    try await again.terminate()
  }
}
