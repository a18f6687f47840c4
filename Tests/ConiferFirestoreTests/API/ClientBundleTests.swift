import ConiferEngine
import Foundation
import Testing

@testable import ConiferFirestore

@Suite("Bundles over the real engine")
struct ClientBundleTests {
  private typealias Made = `The engine of documents and bundles`

  @Test(
    "A bundle brings documents and a query for them, once and across restarts",
    arguments: EngineStore.durable)
  func bundle(store: EngineStore) async throws {
    let world = try ClientWorld(store, isOnline: false)
    let elements =
      [Made.query] + (1...4).flatMap { Made.document("rooms/r\($0)", $0, queries: ["best"]) }
    let data = Data(Made.bundle("rooms", "1970-01-01T00:00:03Z", elements))
    let states = Told<LoadBundleTaskProgress>()
    let loaded = Told<LoadBundleTaskProgress>()
    world.firestore.loadBundle(data, completion: loaded.add)
      .addObserver { states.add($0, nil) }
    await world.waitUntilIdle()
    #expect(loaded.values.map(\.state) == [.success] && loaded.codes.isEmpty)
    #expect(loaded.values.first?.documentsLoaded == 4 && loaded.values.first?.totalDocuments == 4)
    #expect(states.values.last?.state == .success)
    #expect(states.values.dropLast().allSatisfy { $0.state == .inProgress })
    try await world.restart()
    let best = try #require(await world.firestore.getQuery(named: "best"))
    let found = try await best.getDocuments(source: .cache)
    #expect(found.documents.map(\.documentID) == ["r3", "r4"])
    #expect(found.documents[0].get("n") as? Int == 3)
    let again = try await world.firestore.loadBundle(data)
    #expect(again.state == .success)
    try await world.end()
  }

  @Test("What is no bundle is refused", arguments: ["", "x", "5{\"a\"", "2{}"])
  func faults(text: String) async throws {
    let world = try ClientWorld(isOnline: false)
    let (states, ended) = (Told<LoadBundleTaskProgress>(), Told<LoadBundleTaskProgress>())
    world.firestore.loadBundle(Data(text.utf8), completion: ended.add)
      .addObserver { states.add($0, nil) }
    await world.waitUntilIdle()
    #expect(ended.codes == [.invalidArgument] && ended.values.isEmpty)
    #expect(states.values.map(\.state) == [.error])
    try await world.end()
  }

  @Test("A database that nobody holds any longer closes its store", arguments: EngineStore.durable)
  func forgotten(store: EngineStore) async throws {
    let world = try ClientWorld(store, isOnline: false)
    let configuration = world.configuration
    var firestore: Firestore? = Firestore(configuration)
    let receipt = firestore?.document("rooms/eros").enqueue(.set(["n": 1]))
    #expect(try await receipt?.durable != nil)
    firestore = nil
    // The store is closed on the engine's thread, soon.
    var found = 0
    for _ in 0..<200 where found == 0 {
      let next = Firestore(configuration)
      found = (try? await next.pendingWrites().count) ?? 0
      try await next.terminate()
    }
    #expect(found == 1)
  }
}
