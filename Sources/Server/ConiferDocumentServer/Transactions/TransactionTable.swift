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
  /// Open at a time in one database.
  package var ofDatabase = 500
  /// Documents and queries that one may read.
  package var reads = 10_000
  /// About how many bytes the server keeps of what one has read.
  package var bytesOfOne = 8 << 20
  /// About how many bytes the server keeps of what all have read.
  package var bytes = 64 << 20
  /// Seconds from its beginning to its end.
  package var age: Int64 = 270
  /// Seconds between two of its requests.
  package var idle: Int64 = 60
}

/// The open transactions that requests have begun, by their names, which cannot be guessed.
final class TransactionTable: Sendable {
  struct Open: Sendable {
    let database: DatabaseID
    /// The id of the user that has begun it; nil for nobody. It is nobody else's.
    let owner: String?
    let kind: TransactionKind
    let begun: Timestamp
    fileprivate(set) var used: Timestamp
    fileprivate(set) var reads = TransactionReads()
  }

  private struct State {
    var open: [[UInt8]: Open] = [:]
    /// How many are open in each database.
    var counts: [DatabaseID: Int] = [:]
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

  /// Begins a transaction of a user.
  ///
  /// - Returns: its name.
  /// - Throws: `resourceExhausted` while too many are open.
  func begin(
    _ database: DatabaseID, _ kind: TransactionKind, by owner: String?
  ) throws(StatusError) -> [UInt8] {
    let now = clock()
    let id = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    let most = state.withLock { state -> Int? in
      if exceededLimit(state, database) != nil { sweep(&state, now) }
      if let most = exceededLimit(state, database) { return most }
      state.open[id] = Open(
        database: database, owner: owner, kind: kind, begun: now, used: now)
      state.counts[database, default: 0] += 1
      return nil
    }
    guard let most else { return id }
    throw StatusError(
      .resourceExhausted, "\(most) transactions are open. End some, or wait until they expire.")
  }

  /// The limit that is reached; nil when one more transaction may be opened.
  private func exceededLimit(_ state: State, _ database: DatabaseID) -> Int? {
    if state.open.count >= limits.count { return limits.count }
    return state.counts[database, default: 0] >= limits.ofDatabase ? limits.ofDatabase : nil
  }

  /// A transaction that goes on.
  ///
  /// - Throws: `invalidArgument` when the user has none of the name in the database, or it has expired.
  func require(
    _ id: [UInt8], in database: DatabaseID, by owner: String?
  ) throws(StatusError) -> Open {
    let now = clock()
    let open = state.withLock { state -> Open? in
      guard let open = state.open[id], isOpen(open, database, owner) else { return nil }
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
  func take(
    _ id: [UInt8], in database: DatabaseID, by owner: String?
  ) throws(StatusError) -> Open {
    let open = try require(id, in: database, by: owner)
    // Of two concurrent commits of the transaction only one gets it.
    guard state.withLock({ remove(id, &$0) }) else { throw Self.gone }
    return open
  }

  /// Ends a transaction of a user, if it has not ended.
  func end(_ id: [UInt8], in database: DatabaseID, by owner: String?) {
    state.withLock { state in
      if let open = state.open[id], isOpen(open, database, owner) { remove(id, &state) }
    }
  }

  private func isOpen(_ open: Open, _ database: DatabaseID, _ owner: String?) -> Bool {
    guard open.database == database else { return false }
    switch (open.owner, owner) {
    case (nil, nil): return true
    case (let a?, let b?): return a.utf8.elementsEqual(b.utf8)
    default: return false
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
      guard open.reads.count <= limits.reads, open.reads.size <= limits.bytesOfOne,
        bytes <= limits.bytes
      else {
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
        + "queries, \(limits.bytesOfOne) bytes of names in one, \(limits.bytes) in all. Read less in a transaction."
    )
  }

  private static let gone = StatusError(
    .invalidArgument,
    "The transaction has expired, has ended, or is of another database or user. Begin another one.")

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
    let left = (state.counts[open.database] ?? 1) - 1
    state.counts[open.database] = left > 0 ? left : nil
    return true
  }
}
