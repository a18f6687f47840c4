import Synchronization

/// How often an app asked to resume a database: one that waits before it is suspended is not suspended behind a call
/// that resumes it.
package final class Resumptions: Sendable {
  private let count = Mutex<UInt64>(0)

  package init() {}

  /// How often.
  package var number: UInt64 { count.withLock { $0 } }

  /// The app asks to resume; the step is posted before anybody can suspend.
  package func resume(_ post: () -> Void) {
    count.withLock {
      $0 += 1
      post()
    }
  }

  /// Posts the step that suspends, unless the app has asked to resume since.
  ///
  /// - Returns: whether it was posted.
  package func suspend(since number: UInt64, _ post: () -> Void) -> Bool {
    count.withLock {
      guard $0 == number else { return false }
      post()
      return true
    }
  }
}
