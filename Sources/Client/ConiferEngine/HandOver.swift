package import Logging

/// Closing and suspending wait until the authority in this process has answered what was written, as the queue is in memory.
///
/// They wait as long as writes end, and give up when none has for thirty seconds.
package final class HandOver {
  /// How long it may take until a further write ends, in milliseconds.
  private static let longestStandstill: Int64 = 30_000

  /// The callers that wait, by their numbers in ``drains``.
  private var numbers: [UInt64] = []
  private let drains: QueueDrains
  private let clock: any EngineClock
  private let logger: Logger
  /// What the queue holds.
  private let left: () -> Result<PendingWriteTotals, DatabaseError>
  /// How many writes have ended.
  private let endedCount: () -> Int
  /// Has `look` called in a step.
  private let postLook: @Sendable (_ number: UInt64, _ endedBefore: Int) -> Void

  /// Nobody waits yet.
  ///
  /// - Parameters:
  ///   - drains: told when the queue may be empty.
  ///   - left: what the queue holds.
  ///   - endedCount: how many writes have ended, refused ones too.
  ///   - postLook: has ``look(_:endedBefore:)`` called in a step of its own.
  package init(
    _ drains: QueueDrains, _ clock: any EngineClock, _ logger: Logger,
    left: @escaping () -> Result<PendingWriteTotals, DatabaseError>,
    endedCount: @escaping () -> Int, postLook: @escaping @Sendable (UInt64, Int) -> Void
  ) {
    self.drains = drains
    self.clock = clock
    self.logger = logger
    self.left = left
    self.endedCount = endedCount
    self.postLook = postLook
  }

  /// Whether somebody waits. What waits is then sent, also when the app is offline.
  package var isUnderWay: Bool { numbers.contains(where: drains.isWaiting) }

  /// Calls when all that waits has ended, or nothing ends any more.
  ///
  /// - Returns: whether anything waits; otherwise it was called at once.
  @discardableResult
  package func begin(_ done: @escaping @Sendable () -> Void) -> Bool {
    if case .success(let left) = left(), left.pending == 0 {
      done()
      return false
    }
    numbers.removeAll { !drains.isWaiting($0) }
    let number = drains.begin { _ in done() }
    numbers.append(number)
    watch(number)
    return true
  }

  /// Looks again after a while.
  private func watch(_ number: UInt64) {
    let ended = endedCount()
    clock.wake(at: clock.now + Self.longestStandstill) { [postLook] in postLook(number, ended) }
  }

  /// Gives up for a caller if nothing has ended for too long.
  package func look(_ number: UInt64, endedBefore: Int) {
    guard drains.isWaiting(number) else { return }
    if endedCount() > endedBefore { return watch(number) }
    let left = left()
    if case .success(let left) = left {
      logger.error(
        "the store answers no more, and writes that wait for it are in memory alone",
        metadata: ["writes": "\(left.pending)"])
    }
    drains.end(number) { left }
  }
}
