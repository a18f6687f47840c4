import Synchronization

/// Who is told when an eviction has ended.
final class EvictionObserver: Sendable {
  private let handler = Mutex<(@Sendable () -> Void)?>(nil)

  /// Replaces the handler.
  func set(_ new: (@Sendable () -> Void)?) { handler.withLock { $0 = new } }

  /// An eviction has ended.
  func tell() { handler.withLock { $0 }?() }
}

/// A backend that tells when it has made its cache smaller, by itself or as it was asked.
package protocol TellsEvictions: StorageBackend {
  /// Calls a closure when an eviction has ended.
  ///
  /// - Parameter handler: called on any thread, during the backend's work: it must return at once and
  ///   must not call the backend. It replaces the previous handler; nil removes it.
  func observeEvictions(_ handler: (@Sendable () -> Void)?)
}

extension PackedBackend: TellsEvictions {
  package func observeEvictions(_ handler: (@Sendable () -> Void)?) {
    engine.evictor.observer.set(handler)
  }
}
