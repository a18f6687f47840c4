import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import Dispatch
import Synchronization

/// A use of a database's storage that ends by itself: an engine's end, or the removal of what is kept.
///
/// What opens the same storage next waits for it, so that no storage is opened twice.
final class StorageUse: Sendable {
  private struct State {
    var isOver = false
    var waiting: [@Sendable () -> Void] = []
  }

  private let state = Mutex(State())

  /// Lets everybody go on who waits; called once.
  func end() {
    let waiting = state.withLock { state in
      state.isOver = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for body in waiting { body() }
  }

  /// Calls once the use is over; at once if it is.
  func whenOver(_ body: @escaping @Sendable () -> Void) {
    let isOver = state.withLock { state in
      if !state.isOver { state.waiting.append(body) }
      return state.isOver
    }
    if isOver { body() }
  }

  /// Waits until the use is over.
  ///
  /// - Throws: `cancelled`, when the waiting task is; the use goes on then.
  func over() async throws(DatabaseError) {
    let over = Promise<Void>()
    whenOver { over.resolve(.success(())) }
    try await over.value()
  }

  /// Blocks the thread until the use is over.
  func block() {
    let isOver = DispatchSemaphore(value: 0)
    whenOver { isOver.signal() }
    isOver.wait()
  }
}

extension StorageConfiguration {
  /// The same storage, which is opened only after a use of it is over.
  ///
  /// Opening blocks its thread until then, as an engine may, which has a thread of its own.
  func opened(after use: StorageUse) -> StorageConfiguration {
    let storage = self
    return opened { (options) throws(StoreError) in
      use.block()
      return try storage.with(options).open()
    }
  }
}
