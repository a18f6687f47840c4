import ConiferEngine
import ConiferKeyValue
import Logging

/// What storage could not take in and is tried again, one after the other and with growing distance: answers to writes,
/// changes of user, and a trial before the server is listened to again.
final class StorageRecovery {
  typealias Operation = () throws(StoreError) -> Void

  private var operations: [Operation] = []
  /// When the oldest operation is tried again; nil when nothing waits.
  private(set) var retry: Int64?
  /// Whether the storage failed when it was asked last: the network is not used then.
  private(set) var isBlocked = false
  private var delay = StorageRecovery.first
  private let clock: any EngineClock
  private let logger: Logger

  private static let first: Int64 = 1_000
  private static let longest: Int64 = 60_000

  init(_ clock: any EngineClock, _ logger: Logger) {
    self.clock = clock
    self.logger = logger
  }

  /// Does something now, or later when that fails; behind all that waits.
  ///
  /// - Returns: whether it is done.
  func attempt(_ operation: @escaping Operation) -> Bool {
    guard operations.isEmpty else {
      operations.append(operation)
      return false
    }
    do throws(StoreError) {
      try operation()
      return true
    } catch {
      logger.error("the storage failed; it is tried again", metadata: ["cause": "\(error)"])
      failed(operation)
      return false
    }
  }

  /// The storage failed.
  ///
  /// - Parameter operation: what is done later, behind all that waits.
  func failed(_ operation: @escaping Operation) {
    isBlocked = true
    operations.append(operation)
    if retry == nil { retry = clock.now + delay }
  }

  /// The time of `retry` has come; harmless before.
  func tick() {
    guard let moment = retry, moment <= clock.now, let operation = operations.first else { return }
    do throws(StoreError) {
      try operation()
    } catch {
      isBlocked = true
      delay = min(delay * 3 / 2, Self.longest)
      retry = clock.now + delay
      return
    }
    operations.removeFirst()
    isBlocked = false
    delay = Self.first
    // The next one in a step of its own.
    retry = operations.isEmpty ? nil : clock.now + 1
  }

  /// Gives all up.
  func close() {
    operations = []
    retry = nil
    isBlocked = false
  }
}
