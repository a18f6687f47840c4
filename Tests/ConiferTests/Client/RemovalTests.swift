import ConiferServer
import ConiferStorage
import Testing

@testable import Conifer
@testable import ConiferSync

/// What `removeAllObservers` ends, and what `removeObserver` must not.
@Suite struct RemovalTests {
  private let server = Server()
  private let database: Database

  init() {
    database = Database(
      DatabaseConfiguration(namespace: "removal", transport: server.transport()))
  }

  @Test func `Removing all observers ends the sequences there after what they have heard`()
    async throws
  {
    let ref = database.reference(withPath: "a")
    _ = try await ref.enqueue(.set(1)).id
    var all = ref.snapshots.makeAsyncIterator()
    var filtered = ref.queryLimited(toFirst: 2).childEventBatches().makeAsyncIterator()
    #expect(try await all.next()?.value as? Int == 1)
    ref.removeAllObservers()
    #expect(try await all.next() == nil)
    #expect(try await filtered.next() == nil)
    await database.close()
  }

  @Test func `A number that is no observer's ends nothing`() async throws {
    let ref = database.reference(withPath: "a")
    ref.keepSynced(true)
    _ = try await ref.getData()
    let engine = try #require(database.engine as? Engine)
    let silent = try #require(await engine.pinListeners.first)
    ref.removeObserver(withHandle: DatabaseHandle(silent.number))
    _ = try await database.pendingWriteTotals()
    #expect(await engine.listens(silent))
    await database.close()
  }
}
