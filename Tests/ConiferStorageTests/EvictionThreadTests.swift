import ConiferKeyValue
import ConiferQuery
import ConiferTree
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Who commits does not pay for eviction.
@Suite struct EvictionThreadTests {
  /// A gate that eviction's batches wait at, and who they were applied by.
  private final class Gate: Sendable {
    private let isOpen = Mutex(false)
    private let opened = DispatchSemaphore(value: 0)
    let threads = Mutex<Set<UInt>>([])

    func pass(_ batch: Batch) {
      guard batch.frees else { return }
      threads.withLock { _ = $0.insert(Platform.thread) }
      guard !isOpen.withLock({ $0 }) else { return }
      opened.wait()
      opened.signal()
    }

    func open() {
      isOpen.withLock { $0 = true }
      opened.signal()
    }
  }

  private static func room(_ leaves: Int) -> Node {
    Node(
      children: (0..<leaves).map {
        (Key("m\($0)"), Node(.string("message \($0) " + String(repeating: "x", count: 150))))
      })
  }

  @Test func `A commit that blocks is answered before eviction, which another thread does`()
    async throws
  {
    let gate = Gate()
    let store = GuardedStore(MemoryStore()) { gate.pass($0) }
    let budget = StorageOptions.smallestBudget
    let backend = try PackedBackend(
      store, name: "guarded", options: StorageOptions(budget: budget, compression: .none))
    let tree = try await backend.tree(named: "main")
    let answered = DispatchSemaphore(value: 0)
    let caller = Mutex<UInt>(0)
    DispatchQueue.global().async {
      caller.withLock { $0 = Platform.thread }
      // The first one finds nothing counted yet.
      for count in [10, 16_000] {
        _ = try? backend.commitAndWait([.overwrite(tree, "stray", Self.room(count))], .relaxed)
      }
      answered.signal()
    }
    let isAnswered = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(returning: answered.wait(timeout: .now() + 600) == .success)
      }
    }
    gate.open()
    #expect(isAnswered, "the commit waited for eviction")
    // It goes on without another commit.
    var isSmall = false
    for _ in 0..<60_000 where !isSmall {
      isSmall = try backend.space().cache <= budget
      if !isSmall { try await Task.sleep(for: .milliseconds(1)) }
    }
    #expect(isSmall)
    let threads = gate.threads.withLock { $0 }
    #expect(threads.count == 1 && !threads.contains(caller.withLock { $0 }))
    #expect(store.broken == [])
    try await backend.close()
  }

  @Test func `A commit waits for no slice, but one that feeds a cache far over its budget`() throws
  {
    let store = ProbeStore()
    let engine = PackedEngine(
      store, StorageOptions(budget: 1 << 20, compression: .none), Activity(after: 0))
    let tree = try engine.committer.tree("main", .realtimeDatabase, .process)
    let lane = Lane(tree: tree)
    let batches = { store.applied.withLock { $0.count } }
    func count(_ edits: [StorageEdit]) -> Int {
      let before = batches()
      #expect(engine.group([edits]).allSatisfy { $0.code == nil })
      return batches() - before
    }
    #expect(count([.overwrite(tree, "a", Self.room(20))]) == 1)
    #expect(count([.overwrite(tree, "stray", Self.room(24_000))]) == 1, "eviction came first")
    for number in 0..<5 { #expect(count([.enqueue(lane, .set("q", 1))]) == 1, "\(number)") }
    #expect(engine.evictor.hasWork)
    // What feeds the cache waits for as much as was brought.
    #expect(count([.overwrite(tree, "b", 1)]) > 4)
  }

  @Test func `No slice of eviction, of an index or of mending is done within commits`() throws {
    let store = ProbeStore()
    let engine = PackedEngine(
      store, StorageOptions(budget: 1 << 20, compression: .none), Activity(after: 0))
    try engine.writer.change(.relaxed) { (tx) throws(StoreError) in try Trees.writeFormat(tx) }
    let tree = try engine.committer.tree("main", .realtimeDatabase, .process)
    let index = try IndexDefinition("rooms/$room", by: .value)
    _ = engine.group([
      [.overwrite(tree, "stray", Self.room(7500)), .overwrite(tree, "rooms/r", Self.room(300))]
    ])
    _ = engine.group([[.setIndexes(tree, [index])]])
    try engine.writer.change(.relaxed) { (tx) throws(StoreError) in try MendingMarker.add(tx, tree)
    }
    let view = try store.view()
    let cache = try PhysicalFactor(stored: view, store.size()).cache(stored: view)
    view.close()
    try #require(cache > 1 << 20 && cache < 3 << 19, "\(cache)")
    store.applied.withLock { $0 = [] }
    for number in 0..<40 {
      #expect(engine.evictor.hasWork && engine.indexBuilder.hasWork && engine.mender.hasWork)
      let edit: StorageEdit =
        number % 2 == 0
        ? .enqueue(Lane(tree: tree), .set("q", 1))
        : .overwrite(tree, Path("small/n\(number)"), Node(.integer(Int64(number))))
      let answers = Mutex(0)
      let commit = PackedEngine.Pending(edits: [edit], durability: .relaxed) { answer in
        #expect(answer.code == nil)
        answers.withLock { $0 += 1 }
      }
      // As in a store whose next commit has come already.
      _ = engine.drain([.commit(commit)], isAwaited: { true })
      #expect(answers.withLock { $0 } == 1)
      #expect(store.applied.withLock { $0.count } == number + 1)
      guard case .needed = engine.mender.state else {
        Issue.record("commit \(number) mended")
        return
      }
    }
    // All is done as soon as nobody waits.
    for _ in 0..<10_000 where engine.drain([]) {}
    #expect(!engine.evictor.hasWork && !engine.indexBuilder.hasWork && !engine.mender.hasWork)
    let backend = try PackedBackend(store, name: "probe", options: StorageOptions(budget: nil))
    #expect(try backend.space().cache <= 1 << 20)
    #expect(try backend.verify().isSound)
  }
}
