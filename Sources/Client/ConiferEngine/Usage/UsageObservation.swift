import Synchronization

/// The handle that ends an observation of usage. The observation goes on when this is forgotten.
public final class UsageObservation: Sendable {
  private let hasEnded = Atomic(false)
  private let end: @Sendable () -> Void

  package init(_ end: @escaping @Sendable () -> Void) { self.end = end }

  /// Whether it was not removed.
  var isOn: Bool { !hasEnded.load(ordering: .acquiring) }

  /// Ends it; may be called again, on any thread. Nothing is told after a call on the callback queue.
  public func remove() {
    if !hasEnded.exchange(true, ordering: .acquiringAndReleasing) { end() }
  }
}
