import ConiferEngine
import ConiferKeyValue
import Logging

/// What storage could not take in and is tried again, one after the other and with growing distance: answers to writes,
/// changes of user, and a trial before the server is listened to again. The network is not used until all is done.
final class StorageRecovery {
  typealias Operation = () throws(StoreError) -> Void

  private var operations: [Operation] = []
  /// When the oldest operation is tried again; nil when nothing waits.
  private(set) var retry: Int64?
  private var delay = StorageRecovery.first
  private let clock: any EngineClock
  private let logger: Logger

  private static let first: Int64 = 1_000
  private static let longest: Int64 = 60_000

  init(_ clock: any EngineClock, _ logger: Logger) {
    self.clock = clock
    self.logger = logger
  }

  /// Whether something waits.
  var isBusy: Bool { !operations.isEmpty }

  /// Does something now, or behind all that waits when that fails or something waits already.
  ///
  /// - Returns: whether it is done.
  func attempt(_ operation: @escaping Operation) -> Bool {
    if operations.isEmpty {
      do throws(StoreError) {
        try operation()
        return true
      } catch {
        logger.error("the storage failed; it is tried again", metadata: ["cause": "\(error)"])
      }
    }
    add(operation)
    return false
  }

  /// Has something done later that was tried and failed.
  func add(_ operation: @escaping Operation) {
    operations.append(operation)
    if retry == nil { retry = clock.now + delay }
  }

  /// The time of `retry` has come; harmless before.
  ///
  /// - Returns: whether nothing waits any longer, and something did.
  func tick() -> Bool {
    guard let moment = retry, moment <= clock.now, let operation = operations.first else {
      return false
    }
    do throws(StoreError) {
      try operation()
    } catch {
      delay = min(delay * 3 / 2, Self.longest)
      retry = clock.now + delay
      return false
    }
    operations.removeFirst()
    delay = Self.first
    // The next one in a step of its own.
    retry = operations.isEmpty ? nil : clock.now + 1
    return operations.isEmpty
  }

  /// Gives all up.
  func close() {
    operations = []
    retry = nil
  }
}
