import CSQLite
import ConiferKeyValue
import ConiferStorage

/// One SQLite connection, whose errors become store errors; used by one thread at a time.
final class Connection {
  let handle: OpaquePointer
  let path: String
  private var isOpen = true

  /// Opens a database file.
  ///
  /// - Parameter flags: SQLite's open flags; its own locking of the connection is always off.
  /// - Throws: `denied`, `full`, `io`, `foreign`, `busy`.
  init(_ path: String, flags: Int32, vfs: String?) throws(StoreError) {
    // SQLite would treat a path that begins with "file:" as a URI.
    let name = path.utf8.first == UInt8(ascii: "/") ? path : "./" + path
    var handle: OpaquePointer?
    let code = sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_NOMUTEX, vfs)
    guard let handle else {
      throw StoreError(.io, "Memory ran out while opening \(path): free some, and open it again.")
    }
    guard code == SQLITE_OK else {
      let error = Self.failure(handle, code, "open", path)
      sqlite3_close_v2(handle)
      throw error
    }
    sqlite3_extended_result_codes(handle, 1)
    self.handle = handle
    self.path = path
  }

  deinit { close() }

  /// Closes the connection; its statements must be finalized. A second call does nothing.
  func close() {
    guard isOpen else { return }
    isOpen = false
    sqlite3_close_v2(handle)
  }

  /// Runs SQL without using its result.
  func execute(_ sql: String) throws(StoreError) {
    try check(distinguishingReadErrors { sqlite3_exec(handle, sql, nil, nil, nil) }, sql)
  }

  /// The first column of the first row, as an integer; 0 when there is no row.
  func integer(_ sql: String) throws(StoreError) -> Int {
    let statement = try Statement(self, sql)
    switch statement.step() {
    case SQLITE_ROW: return Int(sqlite3_column_int64(statement.handle, 0))
    case SQLITE_DONE: return 0
    case let code: throw failure(code, sql)
    }
  }

  /// The first column of every row, as text.
  func texts(_ sql: String) throws(StoreError) -> [String] {
    let statement = try Statement(self, sql)
    var found: [String] = []
    while true {
      switch statement.step() {
      case SQLITE_ROW:
        found.append(statement.text(0))
      case SQLITE_DONE: return found
      case let code: throw failure(code, sql)
      }
    }
  }

  /// The findings of `integrity_check`; damage that prevents it from running is a finding too.
  func findings(atMost count: Int) throws(StoreError) -> [String] {
    do throws(StoreError) {
      let found = try texts("PRAGMA integrity_check(\(count))")
      return found == ["ok"] ? [] : found
    } catch {
      guard error.code == .damaged else { throw error }
      return [error.cause ?? error.message]
    }
  }

  /// Has the statement that runs on another thread end with an error; does nothing when none runs. The connection must be
  /// open until this returns.
  func interrupt() { sqlite3_interrupt(handle) }

  /// Whether a transaction is open.
  var inTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Throws unless a result code is `SQLITE_OK`.
  func check(_ code: Int32, _ action: @autoclosure () -> String) throws(StoreError) {
    if code != SQLITE_OK { throw failure(code, action()) }
  }

  /// The store error for a result code of the last call.
  func failure(_ code: Int32, _ action: String) -> StoreError {
    Self.failure(handle, code, action, path)
  }

  private static func failure(
    _ handle: OpaquePointer, _ code: Int32, _ action: String, _ path: String
  ) -> StoreError {
    sqliteFailure(
      code, words: String(cString: sqlite3_errmsg(handle)),
      system: sqlite3_system_errno(handle), action, path)
  }
}

/// Extended result codes, whose macros Swift cannot import.
enum ExtendedCode {
  /// `SQLITE_IOERR_FSYNC`: a sync failed.
  static let sync = SQLITE_IOERR | 4 << 8
  /// `SQLITE_IOERR_DIR_FSYNC`: a sync of a directory failed.
  static let directorySync = SQLITE_IOERR | 5 << 8
  /// `SQLITE_IOERR_READ`: the system refused to read.
  static let refusedRead = SQLITE_IOERR | 1 << 8
  /// `SQLITE_IOERR_DATA`: a page's checksum is wrong (a VFS that keeps checksums).
  static let checksum = SQLITE_IOERR | 32 << 8
}

/// Runs a statement, and distinguishes a failed read from damage.
///
/// SQLite reports EIO as a damaged file system (`SQLITE_IOERR_CORRUPTFS`), and running a statement
/// turns that into `SQLITE_CORRUPT`. The system's error number still tells them apart.
func distinguishingReadErrors(_ body: () -> Int32) -> Int32 {
  Platform.forgetError()
  let code = body()
  return code & 0xff == SQLITE_CORRUPT && Platform.lastErrorIsOfReading
    ? ExtendedCode.refusedRead : code
}

/// The store error for a SQLite result code.
///
/// - Parameters:
///   - code: the extended result code.
///   - words: SQLite's own message.
///   - system: the `errno` that SQLite saw, or 0.
///   - action: what was tried.
///   - path: on which database.
func sqliteFailure(
  _ code: Int32, words: String, system: Int32, _ action: String, _ path: String
) -> StoreError {
  let cause = "SQLite \(code): \(words)" + (system != 0 ? ", errno \(system)" : "")
  func error(_ code: StoreError.Code, _ message: String) -> StoreError {
    StoreError(code, message, cause: cause)
  }
  switch code & 0xff {
  case SQLITE_INTERRUPT: return .viewClosed
  case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL:
    return error(
      .busy, "Another connection holds \(path); close the other program that has it open.")
  case SQLITE_NOTADB:
    return error(.foreign, "\(path) is not a SQLite database; use another path for the store.")
  case SQLITE_CORRUPT:
    return damaged(path, cause: cause)
  case SQLITE_FULL:
    return full(path, cause: cause)
  case SQLITE_TOOBIG:
    return error(.tooLarge, "A row is larger than SQLite allows. Store it in parts.")
  case SQLITE_READONLY where Platform.isWritable(path):
    // SQLite reads only when the system refuses to open for writing, whatever the reason was.
    return error(
      .io, "\(path) or its log could not be opened for writing (\(action)). Check the volume.")
  case SQLITE_READONLY, SQLITE_PERM:
    return error(.denied, "\(path) may not be written; give the process write access to it.")
  case SQLITE_AUTH:
    // The error of Apple's library for a protected file before the first unlock.
    return error(.deviceLocked, "\(path) cannot be read until the device is unlocked.")
  case SQLITE_IOERR where code == ExtendedCode.checksum:
    return damaged(path, cause: cause)
  case SQLITE_CANTOPEN, SQLITE_IOERR:
    if Platform.meansFull(system) { return full(path, cause: cause) }
    if Platform.meansDenied(system), code & 0xff == SQLITE_CANTOPEN {
      return error(.denied, "The system denies access to \(path); check its permissions.")
    }
    return error(
      .io, "The system reported an I/O error on \(path) (\(action)). Check the volume.")
  case SQLITE_NOMEM:
    return error(.io, "Memory ran out (\(action)); try a smaller batch or value.")
  case SQLITE_ERROR, SQLITE_SCHEMA, SQLITE_FORMAT, SQLITE_MISMATCH, SQLITE_CONSTRAINT:
    // The statements are fixed and fit the tables, so it is the tables that are not as created.
    return damaged(path, cause: cause)
  default:
    return error(.io, "SQLite refused to \(action) on \(path).")
  }
}

/// The error for a disk or quota without room.
func full(_ path: String, cause: String) -> StoreError {
  StoreError(
    .full,
    "No space is left for \(path). Free disk space or quota, then try again; what is open can be "
      + "read meanwhile.", cause: cause)
}

/// The error for bytes that are not what was written.
func damaged(_ path: String, cause: String) -> StoreError {
  StoreError(
    .damaged, "\(path) holds bytes that were not written so. Restore it or start a new store.",
    cause: cause)
}
