import ConiferDocument
import ConiferFirestore
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import ConiferStorage

/// A server may say only so much that the client has not taken in, so a client that takes in what it has not stored is
/// flooded.
@Suite(.timeLimit(.minutes(5))) struct `The engine of documents and a server that says much` {
  /// A world whose notes say when the store is written, and when what the server said is taken in.
  private func world(
    _ notes: Gathered<String>, willStore: @escaping @Sendable () -> Void = {}
  ) throws -> EngineWorld {
    let store = GuardedStore(MemoryStore()) { _ in
      willStore()
      notes.add("stored")
    }
    let world = try EngineWorld {
      $0.storage = StorageConfiguration(
        name: "guarded", location: nil, options: StorageOptions()
      ) { (options) throws(StoreError) in
        try PackedBackend(store, name: "guarded", options: options)
      }
    }
    world.server.state.withLock { $0.taken = { notes.add("taken") } }
    return world
  }

  @Test func `takes in each thing that was said once, and a moment when the store has it`()
    async throws
  {
    let notes = Gathered<String>()
    let world = try world(notes)
    await world.listen(1, try world.query("rooms"))
    _ = notes.take()
    // The engine may write for itself at any time.
    func taken() -> Int { notes.take().count { $0 == "taken" } }
    world.server.say(.targets(.added, [2]))
    await world.waitUntilIdle()
    #expect(taken() == 1)
    for n in 0..<100 { try world.server.tell("rooms/r\(n)", 1, to: [2], version: 1000) }
    world.server.say(.targets(.current, [2], resumeToken: [1]))
    await world.waitUntilIdle()
    #expect(taken() == 101)
    world.server.say(.targets(.noChange, []), at: 1000)
    await world.waitUntilIdle()
    let said = notes.take()
    #expect(said.first == "stored" && said.filter { $0 == "taken" }.count == 1, "\(said)")
    await world.end()
  }

  @Test func `takes in nothing while the store is busy`() async throws {
    let notes = Gathered<String>()
    let isShut = Mutex(false)
    let gate = AsyncGate()
    let world = try world(notes) { if isShut.withLock({ $0 }) { gate.wait() } }
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    _ = notes.take()
    isShut.withLock { $0 = true }
    try world.server.tell("rooms/a", 2, to: [2], version: 2000)
    world.server.say(.targets(.noChange, []), at: 2000)
    await gate.reached()
    for n in 0..<100 { try world.server.tell("rooms/r\(n)", 1, to: [2], version: 3000) }
    #expect(notes.all.filter { $0 == "taken" } == ["taken"])
    gate.open()
    await world.waitUntilIdle()
    #expect(notes.all.filter { $0 == "taken" }.count == 102)
    await world.end()
  }

  /// A gate at which threads wait until it is open, as it stays then.
  private final class AsyncGate: Sendable {
    private let arrived = AsyncStream<Void>.makeStream()
    private let semaphore = DispatchSemaphore(value: 0)

    func wait() {
      arrived.continuation.yield()
      semaphore.wait()
      semaphore.signal()
    }
    func reached() async { for await _ in arrived.stream { return } }
    func open() { semaphore.signal() }
  }
}
