import CSQLite
import ConiferKeyValue
import ConiferStorage
import Synchronization

/// One connection that reads, with its statements.
///
/// Unchecked: it is passed between threads. The pool lends it to one view at a time, and a view is read by
/// one thread at a time.
final class Reader: @unchecked Sendable {
  /// The purpose of a reader's statement.
  enum Query: Int, CaseIterable {
    case get
    case ascend
    case descend

    func sql(_ table: Table) -> String {
      // The index is named, so that no planner ever sorts a table to walk it.
      let source = table == .rows ? "rows" : "blobs INDEXED BY sqlite_autoindex_blobs_1"
      switch self {
      case .get: return "SELECT value FROM \(source) WHERE key=?1"
      case .ascend:
        return "SELECT key, value FROM \(source) WHERE key>=?1 AND key<?2 ORDER BY key"
      case .descend:
        return "SELECT key, value FROM \(source) WHERE key<=?1 AND key>=?2 ORDER BY key DESC"
      }
    }
  }

  let connection: Connection
  private let begin: Statement
  private let pin: Statement
  private let end: Statement
  /// Idle statements by query and table: a closure that lends bytes may read again meanwhile, and
  /// needs another statement then.
  private var idle: [[Statement]]

  init(_ file: DatabaseFile) throws(StoreError) {
    connection = try file.openReader()
    begin = try Statement(connection, "BEGIN")
    pin = try Statement(connection, "SELECT 1 FROM sqlite_schema LIMIT 1")
    end = try Statement(connection, "ROLLBACK")
    idle = Array(repeating: [], count: Query.allCases.count * Table.allCases.count)
  }

  /// Freezes the newest commit: only the first read does that, not `BEGIN`.
  func freeze() throws(StoreError) {
    try run(begin)
    try run(pin)
  }

  /// Lets go of the frozen commit; false when that failed.
  func thaw() -> Bool {
    let code = end.step()
    end.reset()
    return code == SQLITE_DONE && !connection.inTransaction
  }

  private func run(_ statement: Statement) throws(StoreError) {
    let code = statement.step()
    let error =
      code == SQLITE_DONE || code == SQLITE_ROW ? nil : connection.failure(code, "begin reading")
    statement.reset()
    if let error { throw error }
  }

  /// A statement that nobody uses; give it back afterwards.
  func take(_ query: Query, _ table: Table) throws(StoreError) -> Statement {
    let slot = query.rawValue * 2 + table.index
    if let statement = idle[slot].popLast() { return statement }
    return try Statement(connection, query.sql(table))
  }

  /// Closes the connection; nothing may use the reader any more.
  func close() {
    for statement in [begin, pin, end] + idle.joined() { statement.finish() }
    connection.close()
  }

  /// Resets a statement and keeps it for the next use.
  func giveBack(_ statement: Statement, _ query: Query, _ table: Table) {
    statement.reset()
    idle[query.rawValue * 2 + table.index].append(statement)
  }
}

/// The reading connections of a store: idle ones, and those out on lease to a view.
final class ReaderPool: Sendable {
  /// Why no lease is given.
  enum Phase {
    case open
    case suspended
    case closed
  }

  private struct State {
    var phase = Phase.open
    /// Where the spaces are, until the pool is shut.
    var tables = SpaceTables()
    var idle: [Reader] = []
    /// Readers that are not idle: on lease, or about to be.
    var leased = 0
    var leases: [ObjectIdentifier: Lease] = [:]

    func requireOpen() throws(StoreError) {
      switch phase {
      case .open: return
      case .suspended: throw StoreError.storeSuspended
      case .closed: throw StoreError.storeClosed
      }
    }
  }

  private let state = Mutex(State())
  private let file: DatabaseFile
  /// Held while no new lease may begin.
  private let gate = Mutex<Void>(())

  init(_ file: DatabaseFile) { self.file = file }

  /// Where the spaces of the open store are.
  var tables: SpaceTables { state.withLock { $0.tables } }

  /// Whether no view is open.
  var isQuiet: Bool { state.withLock { $0.leased == 0 } }

  /// Runs a closure while no new view begins; open views continue.
  func hold<R>(_ body: () -> R) -> R { gate.withLock { _ in body() } }

  /// A reader that is frozen at the newest commit.
  ///
  /// - Parameter atMost: how many readers may be leased at once.
  func lease(atMost: Int) throws(StoreError) -> Lease {
    gate.withLock { _ in }
    let idle = try state.withLock { (state: inout State) throws(StoreError) -> Reader? in
      try state.requireOpen()
      guard state.leased < atMost else {
        throw StoreError(
          .full, "\(atMost) views are open, and that is the limit; close views sooner.")
      }
      state.leased += 1
      return state.idle.popLast()
    }
    let reader: Reader
    do throws(StoreError) {
      if let idle { reader = idle } else { reader = try Reader(file) }
      try reader.freeze()
    } catch {
      state.withLock { $0.leased -= 1 }
      throw error
    }
    let lease = Lease(reader, self, tables)
    do throws(StoreError) {
      try state.withLock { (state: inout State) throws(StoreError) in
        try state.requireOpen()
        state.leases[ObjectIdentifier(lease)] = lease
      }
    } catch {
      lease.end()
      throw error
    }
    return lease
  }

  /// Takes a reader back: keeps it for the next view, or closes it.
  fileprivate func takeBack(_ reader: Reader, from lease: Lease) {
    let isGood = reader.thaw()
    // It is declared outside the lock, so that the connection is closed outside the lock, and
    // before it is no longer counted.
    var surplus: Reader? = reader
    state.withLock { state in
      state.leases[ObjectIdentifier(lease)] = nil
      guard isGood, state.phase == .open, state.idle.count < file.options.readersKept else {
        return
      }
      state.idle.append(reader)
      state.leased -= 1
      surplus = nil
    }
    if let reader = surplus {
      reader.close()
      state.withLock { $0.leased -= 1 }
    }
  }

  /// Ends all leases and closes all readers. It waits up to a second for reads in progress, which
  /// end at their next row, or are interrupted; one that takes longer closes its own connection when it ends.
  ///
  /// - Returns: whether all are closed. It may be called again while the pool is shut.
  func shut(_ phase: Phase) -> Bool {
    let idle = state.withLock { state in
      state.phase = phase
      state.tables = SpaceTables()
      defer { state.idle = [] }
      return state.idle
    }
    for reader in idle { reader.close() }
    for _ in 0..<1000 {
      // An interruption before the statement has begun to run is lost, so it is repeated.
      for lease in state.withLock({ Array($0.leases.values) }) { lease.interrupt() }
      if isQuiet { return true }
      Platform.sleep(milliseconds: 1)
    }
    return isQuiet
  }

  /// Gives leases again after `shut`.
  func reopen() { state.withLock { $0.phase = .open } }
}

/// A reader that is lent to one view, and returned when the view ends and no read is in progress.
final class Lease: Sendable {
  private struct State {
    var reader: Reader?
    var reads = 0
  }

  private let state: Mutex<State>
  private let ending = Atomic(false)
  private let pool: ReaderPool
  let tables: SpaceTables

  init(_ reader: Reader, _ pool: ReaderPool, _ tables: SpaceTables) {
    state = Mutex(State(reader: reader))
    self.pool = pool
    self.tables = tables
  }

  /// Whether the view or its store was closed.
  var isEnding: Bool { ending.load(ordering: .acquiring) }

  /// The reader for one read; call `leave` after it.
  func enter() throws(StoreError) -> Reader {
    try state.withLock { (state: inout State) throws(StoreError) -> Reader in
      guard !isEnding, let reader = state.reader else { throw StoreError.viewClosed }
      state.reads += 1
      return reader
    }
  }

  /// Ends a read.
  func leave() {
    let done = state.withLock { state in
      state.reads -= 1
      return takeIfDone(&state)
    }
    if let done { pool.takeBack(done, from: self) }
  }

  /// Ends the lease now, or after the reads in progress.
  func end() {
    ending.store(true, ordering: .releasing)
    let done = state.withLock { state in takeIfDone(&state) }
    if let done { pool.takeBack(done, from: self) }
  }

  /// Ends the lease, and has reads in progress end early.
  func interrupt() {
    end()
    // The connection is closed after the reader was taken out, under the same lock.
    state.withLock { $0.reader?.connection.interrupt() }
  }

  private func takeIfDone(_ state: inout State) -> Reader? {
    guard isEnding, state.reads == 0 else { return nil }
    defer { state.reader = nil }
    return state.reader
  }
}

extension StoreError {
  static var storeClosed: StoreError {
    StoreError(.closed, "The store was closed; open it again.")
  }
  static var storeSuspended: StoreError {
    StoreError(.suspended, "The store is suspended; call resume() first.")
  }
  static var viewClosed: StoreError {
    StoreError(.closed, "The view or its store was closed; take a new view.")
  }
}
