import Dispatch

/// Calls once after a time, which may be changed until then; never after it is gone.
///
/// Unchecked, as Dispatch does not say that its sources may be used from any thread, which they may.
final class Timer: @unchecked Sendable {
  private let source: any DispatchSourceTimer

  /// - Parameter ring: called on a thread of its own.
  init(_ ring: @escaping @Sendable () -> Void) {
    source = DispatchSource.makeTimerSource()
    source.setEventHandler(handler: ring)
    source.activate()
  }

  deinit { source.cancel() }

  func schedule(after milliseconds: Int64) {
    source.schedule(deadline: .now() + .milliseconds(Int(milliseconds) + 1))
  }
}
