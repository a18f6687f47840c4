import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Synchronization
import Testing

@testable import ConiferStorage

/// How long a slice of housekeeping lasts.
@Suite struct TidySliceTests {
  /// Tidies a store of some hundred runs in one long slice.
  ///
  /// - Returns: whether something is left, and how many batches were applied.
  private func tidied(isAwaited: Bool) async throws -> (isMore: Bool?, batches: Int) {
    let store = ProbeStore(bestValueSize: 1024)
    let backend = try PackedBackend(
      store, name: "probe", options: StorageOptions(compression: .none))
    let tree = try await backend.tree(named: "main")
    var chat = ChatData(seed: 1)
    try await backend.commit([.overwrite(tree, .root, chat.rooms(10))])
    for room in 0..<10 {
      let path = Path("room\(100 + room)/m10000/text")
      try await backend.commit([.overwrite(tree, path, "again")])
    }
    let before = store.applied.withLock { $0.count }
    let isMore = Mutex<Bool?>(nil)
    // The store's thread is idle.
    _ = backend.engine.drain([
      .tidy(.seconds(600)) { result in isMore.withLock { $0 = try? result.get() } }
    ]) { isAwaited }
    return (isMore.withLock { $0 }, store.applied.withLock { $0.count } - before)
  }

  @Test func `A slice ends after a step when a commit waits`() async throws {
    let alone = try await tidied(isAwaited: false)
    #expect(alone.isMore == false && alone.batches > 3, "\(alone)")
    let awaited = try await tidied(isAwaited: true)
    #expect(awaited.isMore == true && awaited.batches == 1, "\(awaited)")
  }
}
