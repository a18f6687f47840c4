import ConiferDocument
import ConiferDocumentServer
import ConiferEngine
import ConiferStorage
import Testing

@testable import ConiferFirestore

/// What an app is told when the queue or the cache of its documents passes a limit.
@Suite("Limits of usage")
struct UsageTests {
  private func told(
    _ firestore: Firestore, _ limits: UsageLimits
  ) -> (changes: AsyncStream<UsageChange>.Iterator, observation: any ListenerRegistration) {
    let (stream, changes) = AsyncStream<UsageChange>.makeStream()
    let observation = firestore.observeUsage(limits) { changes.yield($0) }
    return (stream.makeAsyncIterator(), observation)
  }

  @Test(
    "Those of waiting writes are told when passed and when kept", arguments: EngineStore.allCases)
  func queue(_ store: EngineStore) async throws {
    let world = try ServerWorld()
    let configuration = try world.configuration(store)
    var firestore = Firestore(configuration)
    try await firestore.disableNetwork()
    var (changes, observation) = told(firestore, UsageLimits(pendingWrites: 3))
    let rooms = firestore.collection("rooms")
    for number in 0..<5 {
      _ = try await rooms.document("r\(number)").enqueue(.set(["n": number])).durable
    }
    #expect(
      await changes.next()
        == UsageChange(measure: .pendingWrites, limit: 3, value: 4, isOver: true))
    if store != .memory {
      try await firestore.terminate()
      observation.remove()
      var offline = configuration
      offline.transport = nil
      firestore = Firestore(offline)
      (changes, observation) = told(firestore, UsageLimits(pendingWrites: 3, queueBytes: 1 << 20))
      #expect(
        await changes.next()
          == UsageChange(measure: .pendingWrites, limit: 3, value: 5, isOver: true))
      try await firestore.terminate()
      firestore = Firestore(configuration)
      (changes, observation) = told(firestore, UsageLimits(pendingWrites: 0))
      // It may be sent before it is looked at, or after.
      try await firestore.waitForPendingWrites()
      observation.remove()
      try await firestore.terminate()
      return
    }
    try await firestore.enableNetwork()
    let under = try #require(await changes.next())
    #expect(!under.isOver && under.value <= 3)
    observation.remove()
    try await firestore.terminate()
  }

  @Test(
    "Those of the cache are told as it grows, and when it was evicted",
    arguments: EngineStore.allCases)
  func cache(_ store: EngineStore) async throws {
    let world = try ServerWorld()
    let text = String(repeating: "text ", count: 20_000)
    let writes = try (0..<5).map { number in
      Mutation(try DocumentPath("rooms/r\(number)"), .set(["text": .string(text)], []))
    }
    _ = try await world.server.commit(writes, in: world.database)
    var configuration = try world.configuration(store)
    configuration.cache = .persistent(bytes: nil)
    configuration.options.compression = .none
    let firestore = Firestore(configuration)
    let limit = try await firestore.space().cache + 200_000
    var (changes, observation) = told(firestore, UsageLimits(cacheBytes: limit))
    _ = try await firestore.collection("rooms").getDocuments(source: .server)
    let over = try #require(await changes.next())
    #expect(over.measure == .cacheBytes && over.isOver && over.value > limit)
    _ = try await firestore.evict(to: 0)
    let under = try #require(await changes.next())
    #expect(!under.isOver && under.value <= limit - limit / 10)
    observation.remove()
    try await firestore.terminate()
    // Nobody is told, and nothing fails.
    firestore.observeUsage(UsageLimits(pendingWrites: 0)) { _ in }.remove()
  }
}
