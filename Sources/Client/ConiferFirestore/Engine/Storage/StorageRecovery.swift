import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import Logging

/// The operations that storage could not do and that are tried again, one after the other and after growing delays:
/// answers to writes, changes of user, and a trial before the server is listened to again after something that it said
/// could not be read or stored.
final class StorageRecovery {
  typealias Operation = () throws(StoreError) -> Void

  private var operations: [Operation] = []
  /// The events of this step that could not be stored.
  private var refused: [RemoteEvent] = []
  /// Whether something failed in this step that the server is asked for again.
  private var hasFault = false
  /// When the oldest operation is tried again; nil when nothing waits.
  private(set) var retry: Int64?
  /// Whether the storage failed when it was asked last: the network is not used then.
  private(set) var isBlocked = false
  private var delay = StorageRecovery.first
  /// How long the network stays unused after an event of the server could not be stored. A trial that passes does not
  /// shorten it, as the server says the same again.
  private var eventDelay = StorageRecovery.first
  /// Whether an operation that waited is being done.
  private var isTrying = false
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
    // What an operation that waited brings about is part of it.
    guard operations.isEmpty || isTrying else {
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

  /// Something could not be read or stored that the server is asked for again.
  ///
  /// - Parameter event: what it said, if that is what could not be stored.
  func report(_ error: StoreError, _ event: RemoteEvent? = nil) {
    logger.error(
      "the storage failed; the server is asked again later", metadata: ["cause": "\(error)"])
    hasFault = true
    if let event { refused.append(event) }
  }

  /// Takes, at a step's end, the events that could not be stored in it; nil when nothing failed
  /// that the server is asked for again.
  func takeFaults() -> [RemoteEvent]? {
    guard hasFault else { return nil }
    defer { (hasFault, refused) = (false, []) }
    return refused
  }

  /// The storage failed.
  ///
  /// - Parameters:
  ///   - operation: what is done later, behind all that waits.
  ///   - isEvent: whether it was something that the server said that could not be stored.
  func failed(_ operation: @escaping Operation, isEvent: Bool = false) {
    isBlocked = true
    operations.append(operation)
    if retry == nil { retry = clock.now + (isEvent ? max(delay, eventDelay) : delay) }
    if isEvent { eventDelay = min(eventDelay * 3 / 2, Self.longest) }
  }

  /// Documents that the server sent were stored.
  func tookDocuments() { eventDelay = Self.first }

  /// The time of `retry` has come; harmless before.
  func tick() {
    guard let moment = retry, moment <= clock.now, !operations.isEmpty else { return }
    let operation = operations.removeFirst()
    (retry, isBlocked, isTrying) = (nil, false, true)
    defer { isTrying = false }
    do throws(StoreError) {
      try operation()
    } catch {
      operations.insert(operation, at: 0)
      isBlocked = true
      delay = min(delay * 3 / 2, Self.longest)
      retry = clock.now + delay
      return
    }
    // What it brought about may have failed.
    guard !isBlocked else { return }
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
