internal import Synchronization

/// What a running check counts and leaves out, which its result reports.
///
///     CheckRecord.current?.count("images", images)
final class CheckRecord: Sendable {
  /// The record of the check that runs in this task.
  @TaskLocal static var current: CheckRecord?

  private let numbers = Mutex<[String: Int]>([:])
  private let exempt = Mutex<String?>(nil)

  /// Adds to a number of the result: images, kills, faults.
  func count(_ name: String, _ number: Int = 1) {
    numbers.withLock { $0[name, default: 0] += number }
  }

  /// Says what the check does not ask for, so that its promise is kept in part alone.
  func exempts(_ words: String) { exempt.withLock { $0 = words } }

  /// What the check does not ask for; nil for nothing.
  var exemption: String? { exempt.withLock { $0 } }

  /// The numbers so far.
  var counts: [String: Int] { numbers.withLock { $0 } }
}

/// Thrown by a running check whose promise turns out not to apply.
struct NotApplicable: Error {
  /// Why not.
  let reason: String

  init(_ reason: String) { self.reason = reason }
}
