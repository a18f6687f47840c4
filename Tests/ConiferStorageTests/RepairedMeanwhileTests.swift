import ConiferKeyValue
import ConiferTree
import Synchronization
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// A read that meets damage which another one has repaired by then.
@Suite struct RepairedMeanwhileTests {
  private let tree = TreeID(rawValue: 1)

  @Test func `A read that finds damage which was repaired meanwhile is done again`() async throws {
    let store = LossyStore(try await DamageTests.filled())
    let backend = try PackedBackend(store, name: "lossy", options: StorageOptions())
    store.state.withLock { $0.isLosing = true }
    var (calls, other) = (0, Node.empty)
    func read(_ view: any StorageView) throws(StoreError) -> Node {
      calls += 1
      do throws(StoreError) {
        return try view.node(tree, "rooms/r2")
      } catch {
        // Another reader meets the damage too, and is first to have it repaired.
        other = try backend.read { (view) throws(StoreError) in try view.node(tree, "rooms/r3") }
        throw error
      }
    }
    let room = try backend.read(read)
    #expect(calls == 2)
    #expect(other == DamageTests.room(3))
    #expect(room == DamageTests.room(2))
    #expect(store.state.withLock { $0.acknowledged } == 1)
    try await backend.close()
  }

  @Test func `Damage that stays is told, and looked at twice at most`() async throws {
    let store = LossyStore(try await DamageTests.filled())
    let backend = try PackedBackend(store, name: "lossy", options: StorageOptions())
    store.state.withLock {
      $0.isLosing = true
      $0.tells = false
    }
    var calls = 0
    let error = #expect(throws: StoreError.self) {
      _ = try backend.read { (view) throws(StoreError) in
        calls += 1
        return try view.node(tree, "rooms/r2")
      }
    }
    #expect(error?.code == .damaged)
    #expect(calls == 2)
    try await backend.close()
  }

  @Test func `A sum over a store that is repaired meanwhile counts nothing twice`() async throws {
    let store = try await DamageTests.filled()
    // The queue is read behind queries, pins and metadata, in one moment.
    let key = try #require(try store.keys(Spaces.queue).first)
    var value = try #require(try store.view().value(Spaces.queue, key))
    value[value.count / 2] ^= 1
    var batch = Batch()
    batch.put(Spaces.queue, key, value)
    _ = try store.apply(batch, .relaxed)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let whileRepaired = try await StoreDigest.of(backend)
    let reports = try backend.read { (view) throws(StoreError) in try view.incidents() }
    #expect(reports.contains { $0.kind == .writeSetAside })
    let repaired = try await StoreDigest.of(backend)
    #expect(whileRepaired.difference(from: repaired) == nil)
    try await backend.close()
  }
}

/// A store that finds, while it is read, that it lost something, and goes on without it once that is
/// acknowledged.
private final class LossyStore: OrderedStore {
  struct State {
    var isLosing = false
    /// Whether it can tell what is lost.
    var tells = true
    var acknowledged = 0
  }

  let base: MemoryStore
  let state = Mutex(State())
  var traits: StoreTraits { base.traits }

  init(_ base: MemoryStore) { self.base = base }

  var findings: [StoreFinding] {
    state.withLock {
      $0.isLosing && $0.tells
        ? [
          StoreFinding(
            file: "store", offset: 0, bytes: 0, spaces: Spaces.runs.id...Spaces.runs.id,
            words: "a page")
        ]
        : []
    }
  }

  func acknowledgeFindings() throws(StoreError) {
    state.withLock {
      $0.isLosing = false
      $0.acknowledged += 1
    }
  }

  func view() throws(StoreError) -> any OrderedView {
    LossyView(base: try base.view(), isLosing: state.withLock { $0.isLosing })
  }

  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    try base.apply(batch, durability)
  }
  func harden(_ upTo: CommitID) throws(StoreError) { try base.harden(upTo) }
  func size() throws(StoreError) -> StoreSize { try base.size() }
  func tidy(_ slice: Duration) throws(StoreError) -> Bool { try base.tidy(slice) }
  func suspend() throws(StoreError) { try base.suspend() }
  func resume() throws(StoreError) { try base.resume() }
  func close() throws(StoreError) { try base.close() }
  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool { true }
}

private final class LossyView: OrderedView {
  private let base: any OrderedView
  private let isLosing: Bool

  init(base: any OrderedView, isLosing: Bool) {
    self.base = base
    self.isLosing = isLosing
  }

  private func look(_ space: Space) throws(StoreError) {
    guard isLosing, space == Spaces.runs else { return }
    throw StoreError(.damaged, "A page cannot be read.")
  }

  func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R? {
    try look(space)
    return try base.get(space, key, read)
  }
  func walk(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, RawSpan) -> Step
  ) throws(StoreError) {
    try look(space)
    try base.walk(space, origin, visit)
  }
  func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {}
  func close() { base.close() }
}
