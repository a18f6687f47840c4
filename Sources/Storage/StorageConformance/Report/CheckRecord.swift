internal import Synchronization

/// What a check that is being run tells of itself beside passing or failing.
///
///     CheckRecord.current?.count("images", images)
final class CheckRecord: Sendable {
  /// The record of the check that runs in this task.
  @TaskLocal static var current: CheckRecord?

  private let numbers = Mutex<[String: Int]>([:])

  /// Adds to a number of the result: images, kills, faults.
  func count(_ name: String, _ number: Int = 1) {
    numbers.withLock { $0[name, default: 0] += number }
  }

  /// The numbers so far.
  var counts: [String: Int] { numbers.withLock { $0 } }
}

/// Thrown by a check that finds out only while it runs that its promise does not apply.
struct LeftOut: Error {
  /// Why not.
  let reason: String

  init(_ reason: String) { self.reason = reason }
}
