import CSQLite
import ConiferKeyValue
import ConiferStorage

/// The one connection that writes and checkpoints.
///
/// Libraries before 3.51.3 may corrupt a database when two connections write or checkpoint at the
/// same moment; with one there is no such moment.
///
/// Unchecked: it lives inside the store's mutex and never leaves it.
final class Writer: @unchecked Sendable {
  let connection: Connection
  /// Why nothing may be committed any more, once a sync or a commit failed.
  private(set) var poison: StoreError?
  /// Whether commits were written since the log was last synced.
  private(set) var isSoft = false

  private let options: SQLiteOptions
  private let readers: ReaderPool
  private let tables: SpaceTables
  private let begin: Statement
  private let commit: Statement
  private let put: [Statement]
  private let delete: [Statement]
  private let clear: [Statement]
  /// Find the first row of a space; made when a space is first written to.
  private var find: [Statement] = []
  /// Pages in the log after the last commit that wrote any, from SQLite's hook.
  private let logPages: UnsafeMutablePointer<Int32>
  private var syncsCommits = false
  /// At how many pages in the log the next checkpoint is tried.
  private var checkpointAt: Int32
  private let space: DatabaseSpace
  private let countPages: Statement

  init(
    _ file: DatabaseFile, _ readers: ReaderPool, _ reserve: SpaceReserve
  ) throws(StoreError) {
    self.readers = readers
    tables = readers.tables
    let space = DatabaseSpace(file, reserve)
    let connection = try file.openWriter()
    self.space = space
    func statements(_ sql: (Table) -> String) throws(StoreError) -> [Statement] {
      try Self.statements(connection, sql)
    }
    begin = try Statement(connection, "BEGIN IMMEDIATE")
    commit = try Statement(connection, "COMMIT")
    countPages = try Statement(connection, "PRAGMA page_count")
    put = try statements {
      "INSERT INTO \($0)(key, value) VALUES(?1, ?2)"
        + " ON CONFLICT(key) DO UPDATE SET value=excluded.value"
    }
    delete = try statements { "DELETE FROM \($0) WHERE key=?1" }
    clear = try statements { "DELETE FROM \($0) WHERE key>=?1 AND key<?2" }
    self.connection = connection
    options = file.options
    checkpointAt = Int32(clamping: max(options.checkpointPages, 1))
    logPages = .allocate(capacity: 1)
    logPages.initialize(to: 0)
    // The hook takes the place of SQLite's automatic checkpoint.
    sqlite3_wal_hook(
      connection.handle,
      { context, _, _, pages in
        context?.assumingMemoryBound(to: Int32.self).pointee = pages
        return SQLITE_OK
      }, UnsafeMutableRawPointer(logPages))
  }

  deinit { logPages.deallocate() }

  /// A statement for each table.
  private static func statements(
    _ connection: Connection, _ sql: (Table) -> String
  ) throws(StoreError) -> [Statement] {
    var made: [Statement] = []
    for table in Table.allCases { made.append(try Statement(connection, sql(table))) }
    return made
  }

  /// The number of frames in the log after the newest commit; 0 when there was none since opening,
  /// or the log was checkpointed since.
  var framesInLog: Int { Int(logPages.pointee) }

  /// Applies a batch in one transaction and makes it as durable as asked.
  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) {
    let isPower = durability == .power
    var pages: Int32 = 0
    if !batch.isEmpty { pages = try transactWithinSpace(batch, syncs: isPower) }
    if pages > 0 { isSoft = !isPower || space.syncsItself }
    // A commit that changed nothing wrote nothing, so it synced nothing either.
    if isPower { try harden() }
    if pages > 0 { checkpointIfLong(pages) }
  }

  /// Runs a batch as one transaction; on a full disk with the space of the log, and with what was set
  /// aside when it makes room.
  private func transactWithinSpace(_ batch: Batch, syncs: Bool) throws(StoreError) -> Int32 {
    guard batch.makesRoom || space.reserve.set() else {
      throw full(connection.path, cause: "what is set aside is for commits that free space")
    }
    var refusal: StoreError
    do throws(StoreError) {
      return try transact(batch, syncs: syncs)
    } catch {
      guard error.code == .full, poison == nil else { throw error }
      refusal = error
    }
    // After a checkpoint, the next commit overwrites the log without new space, so deleting works while
    // the disk is full.
    if checkpoint(SQLITE_CHECKPOINT_RESTART, patience: 10) == .done {
      do throws(StoreError) {
        return try transact(batch, syncs: syncs)
      } catch {
        guard error.code == .full, poison == nil else { throw error }
        refusal = error
      }
    }
    guard poison == nil, batch.makesRoom, space.reserve.release() else { throw refusal }
    return try transact(batch, syncs: syncs)
  }

  /// Makes all commits survive power loss: syncs the log through SQLite's own file.
  func harden() throws(StoreError) {
    guard isSoft else { return }
    if space.syncsItself {
      let number = space.syncLog()
      guard number == 0 else { throw poisoned(bySync: number, of: "log") }
      isSoft = false
      return
    }
    var file: UnsafeMutablePointer<sqlite3_file>?
    let code = withUnsafeMutablePointer(to: &file) {
      sqlite3_file_control(connection.handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, $0)
    }
    guard code == SQLITE_OK, let file, let sync = file.pointee.pMethods?.pointee.xSync else {
      throw poisoned(by: connection.failure(SQLITE_IOERR, "find the log"))
    }
    let result = sync(file, SQLITE_SYNC_FULL)
    guard result == SQLITE_OK else {
      // Any cause poisons, even a full disk: the state of the disk is unknown.
      throw poisoned(
        by: sqliteFailure(
          result, words: "syncing the log failed", system: 0, "sync the log", connection.path))
    }
    isSoft = false
  }

  /// Runs a batch as one transaction; returns how many pages the log then has, 0 when nothing had
  /// to be written.
  private func transact(_ batch: Batch, syncs: Bool) throws(StoreError) -> Int32 {
    if syncsCommits != syncs {
      // It cannot be changed inside a transaction.
      try connection.execute("PRAGMA synchronous=\(syncs ? "FULL" : "NORMAL")")
      syncsCommits = syncs
    }
    logPages.pointee = 0
    try run(begin, "begin a transaction")
    do throws(StoreError) {
      for edit in batch.edits { try change(edit) }
      try makeRoom(batch.makesRoom)
    } catch {
      rollBack()
      throw error
    }
    do throws(StoreError) {
      try run(commit, "commit")
    } catch {
      rollBack()
      if error.code == .io || error.code == .damaged { _ = poisoned(by: error) }
      throw error
    }
    return logPages.pointee
  }

  /// Makes the database as long as the present transaction needs.
  private func makeRoom(_ usesReserve: Bool) throws(StoreError) {
    let code = countPages.step()
    let pages = code == SQLITE_ROW ? Int(sqlite3_column_int64(countPages.handle, 0)) : 0
    countPages.reset()
    if space.isFull(upTo: pages), !usesReserve {
      throw full(connection.path, cause: "the database would have \(pages) pages")
    }
  }

  private func table(_ space: Space) throws(StoreError) -> Table {
    try tables.table(space) { (table) throws(StoreError) in try holdsRows(table, space) }
  }

  private func tableToFill(_ space: Space) throws(StoreError) -> Table {
    try tables.tableToFill(space) { (table) throws(StoreError) in try holdsRows(table, space) }
  }

  /// Whether a table holds rows of a space, with the edits so far.
  private func holdsRows(_ table: Table, _ space: Space) throws(StoreError) -> Bool {
    if find.isEmpty {
      find = try Self.statements(connection) {
        "SELECT key FROM \($0) WHERE key>=?1 AND key<?2 ORDER BY key LIMIT 1"
      }
    }
    defer { find[table.index].reset() }
    return try find[table.index].findsRow(of: space, connection)
  }

  private func change(_ edit: Batch.Edit) throws(StoreError) {
    switch edit {
    case .put(let space, let key, let value):
      let statement = put[try tableToFill(space).index]
      try connection.check(statement.bind(key: key, in: space.id, to: 1), "bind a key")
      let code = value.withUnsafeBytes { bytes in
        let code = statement.bind(value: bytes)
        guard code == SQLITE_OK else { return code }
        let result = statement.step()
        statement.reset()
        return result
      }
      if code != SQLITE_DONE { throw failed(code, "put") }
    case .delete(let space, let key):
      let statement = delete[try table(space).index]
      try connection.check(statement.bind(key: key, in: space.id, to: 1), "bind a key")
      try run(statement, "delete")
    case .clear(let space, let from, let to):
      guard bytesPrecede(from, to) else { return }
      let statement = clear[try table(space).index]
      try connection.check(statement.bind(key: from, in: space.id, to: 1), "bind a key")
      try connection.check(statement.bind(key: to, in: space.id, to: 2), "bind a key")
      try run(statement, "clear")
    }
  }

  private func run(_ statement: Statement, _ action: String) throws(StoreError) {
    let code = statement.step()
    let error = code == SQLITE_DONE || code == SQLITE_ROW ? nil : failed(code, action)
    statement.reset()
    if let error { throw error }
  }

  /// The error of a failed step, which poisons when it was a sync that failed.
  private func failed(_ code: Int32, _ action: String) -> StoreError {
    let error = connection.failure(code, action)
    let isSync = code == ExtendedCode.sync || code == ExtendedCode.directorySync
    // Any cause of a failed sync poisons, even a full disk: the state of the disk is unknown.
    return isSync
      ? poisoned(by: StoreError(.io, error.message, cause: error.cause)) : error
  }

  private func poisoned(by error: StoreError) -> StoreError {
    if poison == nil { poison = error }
    return error
  }

  private func poisoned(bySync number: Int32, of what: String) -> StoreError {
    // Any cause poisons, even a full disk: the state of the disk is unknown.
    let known = Platform.error(number, "sync the \(what) of", connection.path)
    return poisoned(by: StoreError(.io, known.message, cause: known.cause))
  }

  private func rollBack() {
    if connection.inTransaction, sqlite3_exec(connection.handle, "ROLLBACK", nil, nil, nil) != 0 {
      _ = poisoned(by: connection.failure(SQLITE_IOERR, "roll back"))
    }
  }

  /// How an attempt at a checkpoint ended.
  enum Checkpoint: Equatable {
    /// The whole log is in the database.
    case done
    /// A view, a full disk or another program prevents it; it is tried again later.
    case held
    /// The disk failed; the store is poisoned.
    case failed
  }

  /// Writes the log into the database, as far as no view needs it.
  ///
  /// - Parameters:
  ///   - mode: one of SQLite's checkpoint modes.
  ///   - patience: milliseconds to wait for readers to leave the log.
  func checkpoint(_ mode: Int32, patience: Int32) -> Checkpoint {
    sqlite3_busy_timeout(connection.handle, patience)
    defer { sqlite3_busy_timeout(connection.handle, 5000) }
    space.forgetLength()
    var inLog: Int32 = 0
    var written: Int32 = 0
    let code = sqlite3_wal_checkpoint_v2(connection.handle, "main", mode, &inLog, &written)
    switch code & 0xff {
    case SQLITE_OK:
      guard inLog == written else { return .held }
      let number = space.syncsItself ? space.syncDatabase() : 0
      guard number == 0 else {
        _ = poisoned(bySync: number, of: "database")
        return .failed
      }
      isSoft = false
      logPages.pointee = 0
      return .done
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL: return .held
    default:
      let error = failed(code, "write the log into the database")
      guard error.code != .full else { return .held }
      _ = poisoned(by: error)
      return .failed
    }
  }

  /// Writes the log into the database when it has become long.
  ///
  /// - Parameter pages: how many it has.
  private func checkpointIfLong(_ pages: Int32) {
    let threshold = Int32(clamping: max(options.checkpointPages, 1))
    if pages < threshold { checkpointAt = threshold }
    // Held back by a view once, it is not tried (and synced) at every commit, but at once in a
    // moment without views.
    guard pages >= checkpointAt || (pages >= threshold && readers.isQuiet) else { return }
    let result: Checkpoint
    if pages / 4 >= threshold {
      // Views that overlap without a gap would prevent the log from ever restarting.
      result = readers.hold { checkpoint(SQLITE_CHECKPOINT_RESTART, patience: 10) }
    } else {
      result = checkpoint(SQLITE_CHECKPOINT_PASSIVE, patience: 0)
    }
    checkpointAt = result == .done ? threshold : pages + max(threshold / 4, 1)
  }

  /// Gives free pages back to the file system; returns whether more is left.
  func tidy(_ slice: Duration) throws(StoreError) -> Bool {
    let end = ContinuousClock.now + slice
    var free = try connection.integer("PRAGMA freelist_count")
    while free > 0 {
      logPages.pointee = 0
      do throws(StoreError) {
        try connection.execute("PRAGMA incremental_vacuum(256)")
      } catch {
        if error.code == .io { _ = poisoned(by: error) }
        throw error
      }
      if logPages.pointee > 0 {
        isSoft = true
        checkpointIfLong(logPages.pointee)
      }
      let left = try connection.integer("PRAGMA freelist_count")
      guard left < free else { break }
      free = left
      if free > 0, ContinuousClock.now >= end { return true }
    }
    _ = checkpoint(SQLITE_CHECKPOINT_TRUNCATE, patience: 0)
    if let poison { throw poison }
    _ = space.reserve.set()
    return false
  }

  /// Makes everything durable, writes the log into the database and closes; the files are always released.
  func close() throws(StoreError) {
    if poison == nil, checkpoint(SQLITE_CHECKPOINT_TRUNCATE, patience: 100) == .held {
      do throws(StoreError) { try harden() } catch { _ = poisoned(by: error) }
    }
    // There is no checkpoint after a failed sync: reopening reads the log as it is on disk.
    if poison != nil { _ = conifer_sqlite_no_checkpoint_on_close(connection.handle) }
    sqlite3_wal_hook(connection.handle, nil, nil)
    for statement in [begin, commit, countPages] + put + delete + clear + find {
      statement.finish()
    }
    connection.close()
    space.close()
    if let poison { throw poison }
  }
}
