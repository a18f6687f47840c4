import ConiferEngine
import ConiferSync
import Logging

/// Closing and suspending wait until the authority in this process has answered what was written, as the queue is in memory.
///
/// They wait as long as writes end, and give up when none has for ten seconds.
final class HandOver {
  /// How long it may take until a further write ends, in milliseconds.
  private static let longestStandstill: Int64 = 10_000

  /// The callers that wait, by their numbers in ``drains``.
  private var numbers: [UInt64] = []
  private let setup: DatabaseConfiguration
  private let requests: QueueRequests
  private let connection: Connection
  private let drains: QueueDrains
  private let post: @Sendable (Step) -> Void

  init(
    _ setup: DatabaseConfiguration, _ requests: QueueRequests, _ connection: Connection,
    _ drains: QueueDrains, _ post: @escaping @Sendable (Step) -> Void
  ) {
    self.setup = setup
    self.requests = requests
    self.connection = connection
    self.drains = drains
    self.post = post
  }

  private var endedCount: Int { requests.writes.progress.endedCount }

  /// Has what waits sent, going online for that, and calls when all of it has ended, or nothing does any more.
  func begin(_ done: @escaping @Sendable () -> Void) {
    if case .success(let left) = requests.left(), left.pending == 0 { return done() }
    connection.tell(.reasonEnded(.offline))
    let number = drains.begin { _ in done() }
    numbers.append(number)
    watch(number)
  }

  /// The app goes offline, once nobody waits.
  func goOffline() {
    numbers.removeAll { !drains.isWaiting($0) }
    // The caller that waits goes offline after that.
    if numbers.isEmpty { connection.tell(.reasonBegan(.offline)) }
  }

  /// Looks again after a while.
  private func watch(_ number: UInt64) {
    let (clock, ended) = (setup.clock, endedCount)
    clock.wake(at: clock.now + Self.longestStandstill) { [post] in
      post(.run { $0.handOver.look(number, endedBefore: ended) })
    }
  }

  private func look(_ number: UInt64, endedBefore: Int) {
    guard drains.isWaiting(number) else { return }
    if endedCount > endedBefore { return watch(number) }
    let left = requests.left()
    if case .success(let left) = left {
      setup.logger.error(
        "the store answers no more, and writes that wait for it are in memory alone",
        metadata: ["writes": "\(left.pending)"])
    }
    drains.end(number) { left }
  }
}
