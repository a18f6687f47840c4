package import ConiferDocument
import ConiferWire
import Synchronization

/// What a transaction may do.
package enum TransactionKind: Sendable, Hashable {
  case readWrite
  /// It writes nothing, and may read as of an earlier time.
  case readOnly(Timestamp?)
}

/// How many transactions are open, and for how long.
package struct TransactionLimits: Sendable {
  /// Open at a time, in all databases.
  package var count = 1000
  /// Documents and queries that one may read.
  package var reads = 10_000
  /// About how many bytes the server keeps of what all have read.
  package var bytes = 64 << 20
  /// Seconds from its beginning to its end.
  package var age: Int64 = 270
  /// Seconds between two of its requests.
  package var idle: Int64 = 60
}

/// The transactions that were begun by a request and have not ended, by their names, which nobody can guess.
final class TransactionTable: Sendable {
  struct Open: Sendable {
    let database: DatabaseID
    let kind: TransactionKind
    let begun: Timestamp
    fileprivate(set) var used: Timestamp
    fileprivate(set) var reads = TransactionReads()
  }

  private struct State {
    var open: [[UInt8]: Open] = [:]
    var bytes = 0
  }

  private let limits: TransactionLimits
  private let clock: @Sendable () -> Timestamp
  private let state = Mutex(State())

  init(_ limits: TransactionLimits, clock: @escaping @Sendable () -> Timestamp) {
    self.limits = limits
    self.clock = clock
  }

  /// How many are open, those included that nobody has asked for since they expired.
  var count: Int { state.withLock { $0.open.count } }

  /// Begins a transaction.
  ///
  /// - Returns: its name.
  /// - Throws: `resourceExhausted` while too many are open.
  func begin(_ database: DatabaseID, _ kind: TransactionKind) throws(StatusError) -> [UInt8] {
    let now = clock()
    let id = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    let isBegun = state.withLock { state in
      if state.open.count >= limits.count { sweep(&state, now) }
      guard state.open.count < limits.count else { return false }
      state.open[id] = Open(database: database, kind: kind, begun: now, used: now)
      return true
    }
    if isBegun { return id }
    throw StatusError(
      .resourceExhausted,
      "\(limits.count) transactions are open. End some, or wait until they expire.")
  }

  /// A transaction that goes on.
  ///
  /// - Throws: `invalidArgument` when there is none of the name in the database, or it has expired.
  func require(_ id: [UInt8], in database: DatabaseID) throws(StatusError) -> Open {
    let now = clock()
    let open = state.withLock { state -> Open? in
      guard let open = state.open[id], open.database == database else { return nil }
      if isExpired(open, now) {
        remove(id, &state)
        return nil
      }
      state.open[id]?.used = now
      return open
    }
    guard let open else { throw Self.gone }
    return open
  }

  /// Ends a transaction that is to be committed.
  ///
  /// - Throws: as `require`.
  func take(_ id: [UInt8], in database: DatabaseID) throws(StatusError) -> Open {
    let open = try require(id, in: database)
    // Of two commits at once one has it.
    guard state.withLock({ remove(id, &$0) }) else { throw Self.gone }
    return open
  }

  /// Ends a transaction, if it has not ended.
  func end(_ id: [UInt8], in database: DatabaseID) {
    state.withLock { state in
      if state.open[id]?.database == database { remove(id, &state) }
    }
  }

  /// Takes in what a transaction has read; one that has ended meanwhile is left alone.
  ///
  /// - Throws: `resourceExhausted` for more than may be kept; the transaction has ended then.
  func note(_ reads: TransactionReads, in id: [UInt8]) throws(StatusError) {
    let now = clock()
    let fits = state.withLock { state in
      guard var open = state.open[id] else { return true }
      let before = open.reads.size
      open.reads.add(reads)
      let added = open.reads.size - before
      if state.bytes + added > limits.bytes { sweep(&state, now) }
      let bytes = state.bytes + added
      guard open.reads.count <= limits.reads, bytes <= limits.bytes else {
        remove(id, &state)
        return false
      }
      state.bytes = bytes
      state.open[id] = open
      return true
    }
    if fits { return }
    throw StatusError(
      .resourceExhausted,
      "The transaction, or all that are open, have read more than is kept: \(limits.reads) documents and "
        + "queries, \(limits.bytes) bytes of names. Read less in a transaction.")
  }

  private static let gone = StatusError(
    .invalidArgument,
    "The transaction has expired, has ended, or is of another database. Begin another one.")

  private func isExpired(_ open: Open, _ now: Timestamp) -> Bool {
    now.seconds - open.begun.seconds > limits.age || now.seconds - open.used.seconds > limits.idle
  }

  private func sweep(_ state: inout State, _ now: Timestamp) {
    for (id, open) in state.open where isExpired(open, now) { remove(id, &state) }
  }

  @discardableResult
  private func remove(_ id: [UInt8], _ state: inout State) -> Bool {
    guard let open = state.open.removeValue(forKey: id) else { return false }
    state.bytes -= open.reads.size
    return true
  }
}
