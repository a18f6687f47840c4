import ConiferDocument
import ConiferDocumentServer
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import Foundation
import Logging
import TestSupport
import Testing

@testable import ConiferFirestore

/// A database of documents lets go of its store, and takes it again.
@Suite struct EngineSuspensionTests {
  private let database = DatabaseID(project: "test")

  /// A client with a store of its own, on a server within the process.
  private final class Client {
    let world: ServerWorld
    let scratch: Scratch
    let clock = ScriptedClock()
    var configuration: FirestoreConfiguration
    let firestore: Firestore
    let engine: FirestoreEngine

    init(_ store: EngineStore, _ world: ServerWorld, isOnline: Bool = true) throws {
      self.world = world
      scratch = try Scratch()
      configuration = FirestoreConfiguration(
        projectID: "test", storage: store.configuration(at: scratch.store),
        transport: isOnline ? world.server.transport(to: world.database) : nil)
      configuration.logger.logLevel = .critical
      configuration.clock = clock
      configuration.callbackQueue = CallbackQueue(queue: .global()) { $0() }
      let engine = FirestoreEngine(configuration)
      self.engine = engine
      firestore = Firestore(configuration) { _ in engine }
    }

    var pending: Int {
      get async throws { try await firestore.pendingWrites(limit: 1000).count }
    }
  }

  private func code(
    _ body: () async throws(FirestoreError) -> Void
  ) async -> FirestoreError.Code? {
    do throws(FirestoreError) {
      try await body()
      return nil
    } catch { return error.code }
  }

  private func count(_ world: ServerWorld) async throws -> Int {
    try await world.server.documents(
      DocumentQuery(.collection(try CollectionPath("rooms")), in: world.database)
    ).count
  }

  #if canImport(Glibc)
    /// Whether the table lists a lock; a reading of it may miss lines while others change.
    private func isLocked(_ directory: String) throws -> Bool {
      try (0..<50).contains { _ in try !FileLocks.all(under: directory).isEmpty }
    }

    @Test(arguments: EngineStore.durable)
    func `A suspended database holds no lock, and has made durable what it accepted`(
      _ store: EngineStore
    ) async throws {
      let world = try ServerWorld()
      let client = try Client(store, world)
      try await client.firestore.disableNetwork()
      #expect(try isLocked(client.scratch.path))
      let rooms = client.firestore.collection("rooms")
      let receipts = (0..<20).map { rooms.document("r\($0)").enqueue(.set(["n": $0])) }
      try await client.firestore.suspend()
      #expect(try FileLocks.lasting(under: client.scratch.path).isEmpty)
      #expect(try !isLocked(client.scratch.path))
      for receipt in receipts { _ = try await receipt.durable }
      try await client.firestore.suspend()
      try await client.firestore.resume()
      #expect(try isLocked(client.scratch.path))
      #expect(try await client.pending == 20)
      try await client.firestore.enableNetwork()
      #expect(try await client.firestore.drain(until: .distantFuture) == PendingWriteTotals())
      #expect(try await count(world) == 20)
      try await client.firestore.terminate()
    }
  #endif

  @Test(arguments: EngineStore.allCases)
  func `What is asked for meanwhile is done after it, and listeners go on`(
    _ store: EngineStore
  ) async throws {
    let world = try ServerWorld()
    let client = try Client(store, world)
    let room = client.firestore.document("rooms/r1")
    let told = Gathered<Int>()
    let listener = room.addSnapshotListener { snapshot, _ in
      if let snapshot { told.add(snapshot.get("n") as? Int ?? -1) }
    }
    let sources = Gathered<Bool>()
    let options = room.addSnapshotListener(includeMetadataChanges: true) { snapshot, _ in
      if let snapshot { sources.add(snapshot.metadata.isFromCache) }
    }
    try await eventually("Nothing is told.") { told.all == [-1] && sources.all.last == false }
    let known = sources.all.count
    try await client.firestore.suspend()
    // Also not that they are offline.
    #expect(sources.all.count == known)
    let receipt = room.enqueue(.set(["n": 1]))
    async let got = room.getDocument(source: .cache)
    let path = try DocumentPath("rooms/r1")
    try await world.server.commit(
      [Mutation(path, .set(["n": .integer(2)], []))], in: world.database)
    #expect(told.all == [-1])
    try await client.firestore.resume()
    _ = try await receipt.outcome
    #expect(try await got.exists)
    try await eventually("The listener hears nothing more.") { told.all == [-1, 1] }
    try await world.server.commit(
      [Mutation(try DocumentPath("rooms/r1"), .set(["n": .integer(3)], []))], in: world.database)
    try await eventually("The listener hears nothing more.") { told.all == [-1, 1, 3] }
    listener.remove()
    options.remove()
    try await client.firestore.terminate()
  }

  /// The last call decides, also when nobody waits for the first any more.
  @MainActor @Test func `Calls count in their order, whether their tasks are cancelled or not`()
    async throws
  {
    let engine = RecordingEngine()
    var configuration = FirestoreConfiguration(projectID: "test")
    configuration.logger.logLevel = .critical
    let firestore = Firestore(configuration) { _ in engine }
    for _ in 0..<100 {
      let background = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        try? await firestore.suspend()
      }
      await background.value
      try await firestore.resume()
    }
    #expect(engine.calls == (0..<200).map { $0 % 2 == 0 ? "suspend" : "resume" })
  }

  @Test(arguments: EngineStore.durable)
  func `While another owner has the store it stays suspended, and loses nothing`(
    _ store: EngineStore
  ) async throws {
    let world = try ServerWorld()
    let client = try Client(store, world, isOnline: false)
    let rooms = client.firestore.collection("rooms")
    _ = try await rooms.document("r1").enqueue(.set(["n": 1])).durable
    try await client.firestore.suspend()
    let held = rooms.document("r2").enqueue(.set(["n": 2]))
    // The journal's lock is that of one process.
    if store != .journal {
      let other = try client.configuration.effectiveStorage.open()
      for _ in 0..<2 { #expect(await code(client.firestore.resume) == .unavailable) }
      try await other.close()
    }
    try await client.firestore.resume()
    #expect(try await held.id != nil)
    #expect(try await client.pending == 2)
    try await client.firestore.terminate()
  }

  @Test(arguments: EngineStore.durable)
  func `Writes that another owner sent meanwhile have ended, and those that it queued are sent`(
    _ store: EngineStore
  ) async throws {
    let world = try ServerWorld()
    let client = try Client(store, world)
    try await client.firestore.disableNetwork()
    let room = client.firestore.document("rooms/n")
    let told = Gathered<Int>()
    let listener = room.addSnapshotListener { snapshot, _ in
      if let number = snapshot?.get("n") as? Int { told.add(number) }
    }
    let one = ["n": FieldValue.increment(Int64(1))]
    let receipts = (0..<5).map { _ in room.enqueue(.set(one, merge: true)) }
    for receipt in receipts { _ = try await receipt.durable }
    try await client.firestore.suspend()

    var configuration = client.configuration
    configuration.transport = world.server.transport(to: world.database)
    let other = Firestore(configuration)
    #expect(try await other.drain(until: .distantFuture) == PendingWriteTotals())
    try await other.disableNetwork()
    _ = try await other.document("rooms/late").enqueue(.set(["n": 1])).durable
    try await other.terminate()

    try await client.firestore.resume()
    for receipt in receipts { #expect(try await receipt.outcome == .acknowledged) }
    let last = room.enqueue(.set(one, merge: true))
    try await client.firestore.enableNetwork()
    #expect(try await last.outcome == .acknowledged)
    #expect(try await client.firestore.drain(until: .distantFuture) == PendingWriteTotals())
    try await eventually("The listener hears nothing more.") { told.all.last == 6 }
    #expect(try await count(world) == 2)
    listener.remove()
    try await client.firestore.terminate()
  }

  @Test(arguments: EngineStore.durable)
  func `A process that is killed while suspended loses nothing that it had accepted`(
    _ store: EngineStore
  ) async throws {
    let world = try ServerWorld()
    let client = try Client(store, world, isOnline: false)
    let rooms = client.firestore.collection("rooms")
    for number in 0..<50 { rooms.document("r\(number)").enqueue(.set(["n": number])) }
    try await client.firestore.suspend()
    rooms.document("held").enqueue(.set(["n": 1]))
    // What the next process finds.
    let copy = try Scratch()
    try FileManager.default.copyItem(atPath: client.scratch.store, toPath: copy.store)
    var configuration = client.configuration
    configuration.storage = store.configuration(at: copy.store)
    configuration.transport = world.server.transport(to: world.database)
    let next = Firestore(configuration)
    #expect(try await next.drain(until: .distantFuture) == PendingWriteTotals())
    // What waits in memory was not accepted.
    #expect(try await count(world) == 50)
    try await next.terminate()
    try await client.firestore.terminate()
  }

  @Test(arguments: EngineStore.allCases)
  func `A suspended database can be terminated`(_ store: EngineStore) async throws {
    let world = try ServerWorld()
    let client = try Client(store, world, isOnline: false)
    let rooms = client.firestore.collection("rooms")
    _ = try await rooms.document("r1").enqueue(.set(["n": 1])).durable
    try await client.firestore.suspend()
    let held = rooms.document("r2").enqueue(.set(["n": 2]))
    try await client.firestore.terminate()
    await #expect(throws: DatabaseError.self) { _ = try await held.id }
    #expect(await code(client.firestore.suspend) == .failedPrecondition)
    #expect(await code(client.firestore.resume) == .failedPrecondition)
    guard store != .memory else { return }
    let next = Firestore(client.configuration)
    #expect(try await next.pendingWrites().count == 1)
    try await next.terminate()
  }

  /// Another owner of a store makes commits.
  private func change(
    _ configuration: FirestoreConfiguration,
    _ edits: (any StorageView, TreeID) throws(StoreError) -> [StorageEdit]
  ) async throws {
    let other = try configuration.effectiveStorage.open()
    let found = try other.read { (view) throws(StoreError) in try view.trees().first }
    let tree = try #require(found).id
    let all = try other.read { (view) throws(StoreError) in try edits(view, tree) }
    _ = try await other.commit(all)
    try await other.close()
  }

  private func finish(
    _ call: (@escaping @Sendable (FirestoreError?) -> Void) -> Void
  ) async -> FirestoreError? {
    await withCheckedContinuation { done in call { done.resume(returning: $0) } }
  }

  /// What the server has told of all others is not asked for again.
  @Test(arguments: EngineStore.durable)
  func `Only what another owner has stored of a query is asked for anew`(
    _ store: EngineStore
  ) async throws {
    let world = try EngineWorld(store)
    await world.listen(1, try world.query("rooms"))
    await world.listen(2, try world.query("halls"))
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    try world.server.tell(4, [("halls/b", 2)], at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take().suffix(2) == ["1: a1", "2: b2"])
    #expect(await finish(world.engine.suspend) == nil)
    try await change(world.configuration) { (view, tree) throws(StoreError) in
      var edits: [StorageEdit] = [.setMetadata(tree, "another", [1])]
      for query in try view.trackedQueries(tree, after: nil, limit: 9) where query.id.rawValue == 2
      {
        var other = query.query
        other.isComplete = false
        edits.append(.saveQuery(other))
      }
      return edits
    }
    #expect(await finish(world.engine.resume) == nil)
    await world.waitUntilIdle()
    #expect(world.server.targets[2]?.resumeToken == Array("t1000".utf8))
    #expect(world.server.targets[4]?.resumeToken == [])
    await world.end()
  }

  @Test(arguments: EngineStore.durable)
  func `A store that cannot be read at resuming is let go of again`(
    _ store: EngineStore
  ) async throws {
    let faults = DiskFaults()
    let world = try EngineWorld(store) { $0.storage = $0.storage?.failing(faults) }
    await world.listen(1, try world.query("rooms"))
    try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    #expect(await finish(world.engine.suspend) == nil)
    try await change(world.configuration) { _, tree in [.setMetadata(tree, "another", [1])] }
    faults.fail(DiskFaults.Chances(reads: 100))
    let receipt = try world.set("rooms/b", 2)
    #expect(await finish(world.engine.resume)?.code == .unavailable)
    faults.heal()
    // The journal's lock is that of one process.
    if store != .journal {
      try await change(world.configuration) { _, tree in [.setMetadata(tree, "another", [2])] }
    }
    #expect(receipt.isEnded == false)
    #expect(await finish(world.engine.resume) == nil)
    await world.waitUntilIdle()
    #expect(try await receipt.id != nil)
    await world.end()
  }

  @Test func `Writes that wait for the token provider are waited for, and count`() async throws {
    let world = try EngineWorld(usesTokens: true)
    let signIn = try #require(world.signIn)
    signIn.set(.failure)
    world.engine.tokenDidChange()
    await world.waitUntilIdle()
    for number in 0..<10 { try world.set("rooms/\(number)", 1) }
    await world.waitUntilIdle()
    let past = Double(world.clock.wallTime - 1) / 1000
    #expect(try await world.engine.drain(until: past) == PendingWriteTotals(pending: 10))
    let engine = world.engine
    let task = Task { try await engine.drain(until: .infinity) }
    try await eventually("Nobody waits.") { await engine.ask { $0.drains.count } == 1 }
    task.cancel()
    await #expect { try await task.value } throws: { ($0 as? FirestoreError)?.code == .cancelled }
    #expect(await engine.ask { $0.drains.count } == 0)
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `At the deadline it is told what is left`(_ store: EngineStore) async throws {
    let world = try ServerWorld()
    let client = try Client(store, world, isOnline: false)
    for number in 0..<10 { client.firestore.document("rooms/r\(number)").enqueue(.set(["n": 1])) }
    let end = Double(client.clock.wallTime + 30_000) / 1000
    let engine = client.engine
    let task = Task { try await engine.drain(until: end) }
    try await eventually("Nobody waits.") { await engine.ask { $0.drains.count } == 1 }
    client.clock.advance(by: 29_999)
    #expect(await engine.ask { $0.drains.count } == 1)
    client.clock.advance(by: 1)
    #expect(try await task.value.pending == 10)
    // Its time is over already.
    #expect(try await client.firestore.drain(until: .distantPast).pending == 10)
    try await client.firestore.terminate()
  }
}
