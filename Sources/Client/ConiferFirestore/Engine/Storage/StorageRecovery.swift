import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import Logging

/// The operations that storage could not do and that are tried again, one after the other and after growing delays:
/// answers to writes and changes of user. Beside them stands a trial of the storage, which comes before the server is asked
/// again for what could not be read or stored of what it said.
final class StorageRecovery {
  typealias Operation = () throws(StoreError) -> Void

  /// What of the network is not used until a trial has passed.
  fileprivate enum Block {
    /// What the server says to listeners: the disk is full, and answers to writes make room.
    case listens
    case all
  }

  private struct Trial {
    let operation: Operation
    var moment: Int64
    var delay = StorageRecovery.first
    var block: Block
  }

  /// What failed in this step that the server is asked for again.
  struct Faults {
    /// The events that could not be stored.
    var refused: [RemoteEvent] = []
    fileprivate var block = Block.listens
  }

  private var operations: [Operation] = []
  private var trial: Trial?
  /// What failed in this step.
  private var faults: Faults?
  /// When the oldest operation is tried again; nil when none waits.
  private var nextTry: Int64?
  /// Whether an operation failed when it was tried last.
  private var hasFailed = false
  private var delay = StorageRecovery.first
  /// How long the network stays unused after an event of the server could not be stored. A trial
  /// commit that passes does not shorten it, because the server sends the same event again.
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

  /// When something is tried again; nil when nothing waits.
  var retry: Int64? {
    let first = min(nextTry ?? .max, trial?.moment ?? .max)
    return first == .max ? nil : first
  }

  /// Whether the storage failed when it was asked last: the network is not used then.
  var isBlocked: Bool { hasFailed || trial?.block == .all }
  /// Whether the server is not listened to.
  var blocksListens: Bool { isBlocked || trial != nil }

  /// Runs an operation now, or later if it fails or if earlier ones wait.
  ///
  /// - Returns: whether it is done.
  func attempt(_ operation: @escaping Operation) -> Bool {
    // An operation that a waiting one leads to runs with it.
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

  /// Notes that something could not be read or stored. The server is asked for it again.
  ///
  /// - Parameters:
  ///   - event: what it said, if that is what could not be stored.
  ///   - isHeard: whether listens brought it, so that writes may go on when the disk is full.
  func report(_ error: StoreError, _ event: RemoteEvent? = nil, isHeard: Bool = false) {
    logger.error(
      "the storage failed; the server is asked again later", metadata: ["cause": "\(error)"])
    var all = faults ?? Faults()
    if let event { all.refused.append(event) }
    if !isHeard || error.code != .full { all.block = .all }
    faults = all
  }

  /// Takes, at a step's end, what failed in it that the server is asked for again; nil when nothing did.
  func takeFaults() -> Faults? {
    defer { faults = nil }
    return faults
  }

  /// Has the storage tried before the server is asked again for what failed.
  func failed(_ faults: Faults, before operation: @escaping Operation) {
    let isEvent = !faults.refused.isEmpty
    if trial == nil {
      let moment = clock.now + (isEvent ? eventDelay : Self.first)
      trial = Trial(operation: operation, moment: moment, block: faults.block)
    } else if faults.block == .all {
      trial?.block = .all
    }
    if isEvent { eventDelay = min(eventDelay * 3 / 2, Self.longest) }
  }

  /// The storage failed.
  ///
  /// - Parameter operation: what is done later, behind all that waits.
  func failed(_ operation: @escaping Operation) {
    hasFailed = true
    operations.append(operation)
    if nextTry == nil { nextTry = clock.now + delay }
  }

  /// Documents that the server sent were stored.
  func documentsStored() { eventDelay = Self.first }

  /// The time of `retry` has come; harmless before.
  func tick() {
    tryStorage()
    guard let moment = nextTry, moment <= clock.now, !operations.isEmpty else { return }
    let operation = operations.removeFirst()
    (nextTry, hasFailed, isTrying) = (nil, false, true)
    defer { isTrying = false }
    do throws(StoreError) {
      try operation()
    } catch {
      operations.insert(operation, at: 0)
      hasFailed = true
      delay = min(delay * 3 / 2, Self.longest)
      nextTry = clock.now + delay
      return
    }
    // An operation that followed from it may have failed.
    guard !hasFailed else { return }
    delay = Self.first
    // The next operation runs in a step of its own.
    nextTry = operations.isEmpty ? nil : clock.now + 1
  }

  private func tryStorage() {
    guard var trial, trial.moment <= clock.now else { return }
    do throws(StoreError) {
      try trial.operation()
      self.trial = nil
    } catch {
      if error.code != .full { trial.block = .all }
      trial.delay = min(trial.delay * 3 / 2, Self.longest)
      trial.moment = clock.now + trial.delay
      self.trial = trial
    }
  }

  /// Gives all up.
  func close() {
    operations = []
    (trial, faults, nextTry) = (nil, nil, nil)
    hasFailed = false
  }
}

extension StoreError {
  /// Whether the same would be refused again, however often it is tried.
  var isLasting: Bool { code == .invalid || code == .tooLarge || code == .newerFormat }
}
