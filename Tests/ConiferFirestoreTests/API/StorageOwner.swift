import ConiferEngine
import ConiferKeyValue
import Synchronization

/// What refuses to have a storage opened twice, as a lock does, and holds back its closing as a test says.
final class StorageOwner: Sendable {
  private struct State {
    var isOpen = false
    var held: Promise<Void>?
  }

  private let state = Mutex(State())

  /// From now on closing waits.
  func hold() { state.withLock { $0.held = Promise() } }

  /// Lets closing go on.
  func release() {
    state.withLock { state in
      defer { state.held = nil }
      return state.held
    }?.resolve(.success(()))
  }

  func opened() throws(StoreError) {
    let wasOpen = state.withLock { state in
      defer { state.isOpen = true }
      return state.isOpen
    }
    if wasOpen { throw StoreError(.busy, "The storage is open.") }
  }

  func mayClose() async { try? await state.withLock { $0.held }?.value() }

  func closed() { state.withLock { $0.isOpen = false } }
}
