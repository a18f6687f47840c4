import Dispatch

/// A timer that fires once, at a time that may be changed until then; it never fires after its
/// release.
///
/// Unchecked because Dispatch does not declare its sources `Sendable`, although they may be used
/// from any thread.
final class Timer: @unchecked Sendable {
  private let source: any DispatchSourceTimer

  /// - Parameter fire: called on another thread when the timer fires.
  init(_ fire: @escaping @Sendable () -> Void) {
    source = DispatchSource.makeTimerSource()
    source.setEventHandler(handler: fire)
    source.activate()
  }

  deinit { source.cancel() }

  func schedule(after milliseconds: Int64) {
    source.schedule(deadline: .now() + .milliseconds(Int(milliseconds) + 1))
  }
}
