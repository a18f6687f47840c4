import ConiferDocument
import ConiferDocumentServer
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import TestSupport
import Testing

@testable import ConiferFirestore

/// The client of documents keeps its storage tidy by itself.
///
/// That nothing is lost when the process is killed meanwhile, or the disk fails, is what the kit checks of
/// `tidy` on each backend.
@Suite struct EngineHousekeepingTests {
  private static let quiet = HousekeepingSchedule.Pace().quiet

  /// A client that has loaded about a megabyte of messages from its server.
  private struct Loaded {
    let world: ServerWorld
    let clock: ScriptedClock
    let engine: FirestoreEngine

    var backend: any StorageBackend {
      get async throws { try #require(await engine.ask { $0.store.engine.backend }) }
    }

    var runner: HousekeepingRunner? {
      get async { await engine.ask { $0.store.engine.housekeeping } }
    }

    func usage() async throws -> StorageUsage {
      try await backend.read { (view) throws(StoreError) in try view.usage(nil) }
    }

    func end() async {
      await withCheckedContinuation { ended in engine.terminate { _ in ended.resume() } }
    }
  }

  private func loaded(
    _ store: EngineStore, _ change: (inout FirestoreConfiguration) -> Void = { _ in }
  ) async throws -> Loaded {
    let (world, clock) = (try ServerWorld(), ScriptedClock())
    var random = Seeded(3)
    let words = ["hello", "see you", "tomorrow", "the train is late", "on my way", "thank you"]
    for room in 0..<20 {
      let writes = try (0..<400).map { number in
        let text = (0..<4).map { _ in words[Int(random.next() % 6)] }.joined(separator: ", ")
        return try Mutation(
          DocumentPath("rooms/r\(room)/messages/m\(number)"),
          .set(
            ["author": .string("user-\(random.next() % 50)"), "text": .string(text)], []))
      }
      try await world.server.commit(writes, in: world.database)
    }
    var configuration = try world.configuration(store)
    configuration.clock = clock
    configuration.housekeeping = .automatic
    change(&configuration)
    let engine = FirestoreEngine(configuration)
    let isLoaded = Gathered<Bool>()
    engine.listen(
      1, DocumentQuery(.group("messages"), in: world.database),
      ListenOptions(includesMetadataChanges: true)
    ) { result in
      if case .success(let event) = result, !event.snapshot.isFromCache { isLoaded.add(true) }
    }
    try await eventually("Nothing is loaded.") { !isLoaded.all.isEmpty }
    await engine.waitUntilIdle()
    return Loaded(world: world, clock: clock, engine: engine)
  }

  @Test(arguments: EngineStore.allCases)
  func `A client that is left alone trains a dictionary and packs what it has with it`(
    _ store: EngineStore
  ) async throws {
    let client = try await loaded(store)
    let runner = try #require(await client.runner)
    let before = try await client.usage()
    #expect(before.dictionaryCount == 0 && before.runs.raw > 500_000)
    try await eventually("Something is always left to do.") {
      client.clock.advance(by: Self.quiet)
      return runner.isResting
    }
    let after = try await client.usage()
    #expect(after.dictionaryCount == 1)
    #expect(after.total < before.total, "\(before.total) bytes became \(after.total)")
    await client.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `A client that is to leave its storage alone never tidies it`(
    _ store: EngineStore
  ) async throws {
    let client = try await loaded(store) { $0.housekeeping = .off }
    #expect(await client.runner == nil)
    await client.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `At most one slice is done between the call of a write and its durability`(
    _ store: EngineStore
  ) async throws {
    let client = try await loaded(store) { $0.options.durability = .strongest }
    let runner = try #require(await client.runner)
    for number in 0..<60 {
      // Slices follow one another from now on.
      client.clock.advance(by: Self.quiet)
      let path = try DocumentPath("rooms/r\(number % 20)/messages/m\(number)")
      let receipt = client.engine.write(
        [Mutation(path, .set(["text": .string("again")], []))], nil)
      _ = try await receipt.durable
    }
    #expect(runner.mostSlicesWaitedFor <= 1)
    #expect(runner.commits >= 60)
    // Something was done between the writes.
    #expect(runner.slices.begun > 1)
    await client.end()
  }
}
