import ConiferKeyValue
import ConiferTree
import Dispatch
import Synchronization
import TestSupport
import Testing

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
        continuation.resume(returning: answered.wait(timeout: .now() + 60) == .success)
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

  @Test func `A commit is answered before a slice, and one that only queues waits for one`() throws
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
    for number in 0..<5 { #expect(count([.enqueue(lane, .set("q", 1))]) <= 2, "\(number)") }
    #expect(engine.evictor.hasWork)
    // What feeds the cache waits for as much as was brought.
    #expect(count([.overwrite(tree, "b", 1)]) > 4)
  }
}
