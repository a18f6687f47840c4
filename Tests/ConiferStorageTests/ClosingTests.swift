import ConiferKeyValue
import ConiferTree
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// What is asked of a store that was closed, and of a store from within its own work.
@Suite struct ClosingTests {
  private typealias Store = GuardedStore<MemoryStore>

  private static func opened() throws -> (Store, PackedBackend<Store>) {
    let store = Store(MemoryStore())
    return (store, try PackedBackend(store, name: "guarded", options: StorageOptions()))
  }

  private static func code<R>(_ body: () async throws(StoreError) -> R) async -> StoreError.Code? {
    do throws(StoreError) {
      _ = try await body()
      return nil
    } catch { return error.code }
  }

  @Test func `After close everything is answered closed, and nothing reaches the store`()
    async throws
  {
    let (store, backend) = try Self.opened()
    let tree = try await backend.tree(named: "main")
    let last = try await backend.commit([.overwrite(tree, "a", 1)], .relaxed).commit
    try await backend.close()
    let calls = store.calls
    try await backend.close()
    #expect(await Self.code { () throws(StoreError) in try await backend.harden(last) } == .closed)
    #expect(
      await Self.code { () throws(StoreError) in try await backend.tidy(.zero) } == .closed)
    #expect(await Self.code { () throws(StoreError) in try await backend.suspend() } == .closed)
    #expect(await Self.code { () throws(StoreError) in try await backend.resume() } == .closed)
    #expect(
      await Self.code { () throws(StoreError) in try await backend.tree(named: "b") } == .closed)
    #expect(
      await Self.code { () throws(StoreError) in try await backend.withStore { _ in } } == .closed)
    #expect(
      await Self.code { () throws(StoreError) in
        try backend.commitAndWait([.overwrite(tree, "a", 2)], .relaxed)
      } == .closed)
    #expect(
      await Self.code { () throws(StoreError) in
        try await backend.evict(to: 0, dryRun: false)
      } == .closed)
    #expect(store.calls == calls)
    #expect(store.broken == [])
  }

  /// An answer that may never come.
  private final class Answer: Sendable {
    let code = Mutex<StoreError.Code??>(nil)
    let isThere = DispatchSemaphore(value: 0)
  }

  /// What a call that blocks was answered within ten minutes; nil when it was not.
  private static func bounded(
    _ body: @escaping @Sendable () async -> StoreError.Code?
  ) async -> StoreError.Code?? {
    let answer = Answer()
    Task.detached {
      let code = await body()
      answer.code.withLock { $0 = .some(code) }
      answer.isThere.signal()
    }
    return await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        _ = answer.isThere.wait(timeout: .now() + 600)
        continuation.resume(returning: answer.code.withLock { $0 })
      }
    }
  }

  @Test func `A commit that waits within the store's own work is refused`() async throws {
    let (_, backend) = try Self.opened()
    let tree = try await backend.tree(named: "main")
    let code = await Self.bounded {
      await Self.code { () throws(StoreError) in
        try await backend.withStore { (_) throws(StoreError) in
          _ = try backend.commitAndWait([.overwrite(tree, "a", 2)], .relaxed)
        }
      }
    }
    try #require(code == .some(.invalid))
    // Behind it, everything is as usual.
    _ = try backend.commitAndWait([.overwrite(tree, "a", 3)], .relaxed)
    #expect(try backend.node(tree, "a") == 3)
    try await backend.close()
  }

  @Test func `Damage that is met within the store's own work is told, and mended later`()
    async throws
  {
    let (store, backend) = try Self.opened()
    let tree = try await backend.tree(named: "main")
    _ = try await backend.commit([.overwrite(tree, "a", 2), .overwrite(tree, "b", 3)], .relaxed)
    for key in try store.base.keys(Spaces.runs) { try store.base.damage(Spaces.runs, key) }
    let code = await Self.bounded {
      await Self.code { () throws(StoreError) in
        try await backend.withStore { (_) throws(StoreError) in
          _ = try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
        }
      }
    }
    try #require(code == .some(.damaged))
    #expect(try backend.node(tree, .root).isEmpty)
    try await backend.close()
  }
}
