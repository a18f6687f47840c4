public import ConiferKeyValue
import Synchronization

/// A handle that follows a local write until its end: its id, when it is durable, and how it ends.
///
/// It may be ignored, and costs nothing then. A write outlives its receipt: keep the ``id`` to ask
/// `outcome(of:)` after a restart.
public final class WriteReceipt: Sendable {
  /// The id that a write keeps for the life of its store, made of the identity that wrote it and a
  /// number; where the queue is in memory, as of a database without a server, until the database is
  /// closed.
  public struct ID: Hashable, Sendable, Codable {
    /// The identity that wrote it, such as a user id; empty for writes made while nobody is signed
    /// in.
    public let identity: String
    /// The number among that identity's writes; it never repeats.
    public let number: UInt64

    /// The id of an identity's write with a number.
    public init(identity: String, number: UInt64) {
      self.identity = identity
      self.number = number
    }
  }

  /// How a write ended, such as acknowledged, rejected or superseded.
  public enum Outcome: Sendable, Equatable {
    /// The server applied it.
    case acknowledged
    /// The server refused it. It stays, with the reason, until the app retries, edits or discards it, or purges all.
    case rejected(DatabaseError)
    /// The app gave it up.
    case discarded
    /// It was never sent, as a later write overwrote all of it while it still waited: that write, whose id this is, goes
    /// to the server in its place (see `DatabaseConfiguration.dropsSupersededWrites`).
    case superseded(by: ID)
    /// It was never queued, for this reason.
    case failed(DatabaseError)
  }

  private let queued = Promise<ID?>()
  private let hardened = Promise<Durability>()
  private let ended = Promise<Outcome>()
  /// The outcome of the write that was sent: this one, or the one that superseded it.
  private let endedAtLast = Promise<Outcome>()
  /// Called when nobody holds the receipt any longer.
  private let released = Mutex<(@Sendable () -> Void)?>(nil)

  package init() {}

  deinit { released.withLock { $0 }?() }

  /// The write's id, once it is queued; nil for an update of nothing, which needs no queue.
  ///
  /// - Throws: what kept it from being queued, or `cancelled`.
  public var id: ID? {
    get async throws(DatabaseError) { try await queued.value() }
  }

  /// How durable the write is, once that is as durable as the configuration asks for.
  ///
  /// - Throws: what kept it from being queued or from becoming durable, or `cancelled`.
  public var durable: Durability {
    get async throws(DatabaseError) { try await hardened.value() }
  }

  /// How the write ended; offline that takes until there is a connection.
  ///
  /// - Throws: `cancelled`, when the waiting task is; `closed`, when the database was closed before:
  ///   the write stays in the queue, unless that is in memory, as of a database without a server.
  public var outcome: Outcome {
    get async throws(DatabaseError) { try await ended.value() }
  }

  /// Waits until the server has applied the write, or the one that superseded it.
  ///
  /// - Throws: why it was not.
  public func acknowledged() async throws(DatabaseError) {
    switch try await endedAtLast.value() {
    case .acknowledged, .superseded: return
    case .rejected(let error), .failed(let error): throw error
    case .discarded:
      throw DatabaseError(.discarded, "The app discarded the write.")
    }
  }
}

// For the engine, which calls each in turn; only the first call of each counts.
extension WriteReceipt {
  /// The receipt of a write that was not queued.
  package static func failed(_ error: DatabaseError) -> WriteReceipt {
    let receipt = WriteReceipt()
    receipt.fail(error)
    return receipt
  }

  /// The receipt of a write that changes nothing, and so is done: it is as durable as the writes before it, which the
  /// engine tells.
  package static func nothing() -> WriteReceipt {
    let receipt = WriteReceipt()
    receipt.queued.resolve(.success(nil))
    receipt.end(.acknowledged)
    return receipt
  }

  /// Has a closure called when nobody holds the receipt any longer; replaces an earlier one.
  package func whenReleased(_ body: @escaping @Sendable () -> Void) {
    released.withLock { $0 = body }
  }

  /// The write is in the queue.
  package func setID(_ id: ID) { queued.resolve(.success(id)) }

  /// The write is as durable as asked.
  package func setDurable(_ result: Result<Durability, DatabaseError>) { hardened.resolve(result) }

  /// Whether it is known how the write itself ended.
  package var isEnded: Bool { ended.result != nil }

  /// The write has ended, or what superseded it has.
  package func end(_ outcome: Outcome) {
    ended.resolve(.success(outcome))
    if case .superseded = outcome { return }
    endedAtLast.resolve(.success(outcome))
  }

  /// The database was closed before the write ended; it stays in a queue that outlasts the process.
  package func close(_ error: DatabaseError) {
    hardened.resolve(.failure(error))
    ended.resolve(.failure(error))
    endedAtLast.resolve(.failure(error))
  }

  /// The write was never queued.
  package func fail(_ error: DatabaseError) {
    queued.resolve(.failure(error))
    hardened.resolve(.failure(error))
    end(.failed(error))
  }
}

extension WriteReceipt.ID: CustomStringConvertible, LosslessStringConvertible {
  /// The number and the identity, such as `17@alice`; to be kept as text.
  public var description: String { "\(number)@\(identity)" }

  /// Reads what ``description`` gives; nil for other text.
  public init?(_ description: String) {
    guard let at = description.firstIndex(of: "@"), let number = UInt64(description[..<at]) else {
      return nil
    }
    self.init(
      identity: String(description[description.index(after: at)...]), number: number)
  }

  /// Whether number and identity are the same, by bytes.
  public static func == (a: Self, b: Self) -> Bool {
    a.number == b.number && a.identity.utf8.elementsEqual(b.identity.utf8)
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(number)
    for byte in identity.utf8 { hasher.combine(byte) }
  }
}
