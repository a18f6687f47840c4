import CSQLite
package import ConiferKeyValue
import ConiferStorage

/// Reads what can be read of a damaged database, table by table from both ends.
///
/// SQLite notices damage where it meets it, and ends a walk there; the rows between two damaged
/// places of one table are lost.
package enum SQLiteSalvage {
  /// Reads a copy of a store's files in a separate directory, into which SQLite recovers the log.
  ///
  /// - Parameters:
  ///   - row: gets each row's stored key (the space's number, then the key) and its value; some
  ///     come twice.
  ///   - lost: gets what could not be read.
  /// - Throws: `foreign` or `damaged` when the tables are not found, `io`, what `row` throws.
  package static func read(
    _ directory: String, row: (_ key: Bytes, _ value: Bytes) throws(StoreError) -> Void,
    lost: (StoreFinding) -> Void
  ) throws(StoreError) {
    let path = directory + "/conifer.sqlite"
    guard !Directory.isMissing(path) else {
      throw StoreError(.damaged, "\(path) is missing. Restore it or start a new store.")
    }
    let connection = try Connection(path, flags: SQLITE_OPEN_READWRITE, vfs: nil)
    defer { connection.close() }
    try connection.execute("PRAGMA cell_size_check=ON")
    for (table, orders) in [
      ("rows", ["key", "key DESC"]),
      ("blobs NOT INDEXED", ["id", "id DESC"]),
      ("blobs INDEXED BY sqlite_autoindex_blobs_1", ["key", "key DESC"]),
    ] {
      // The index of blobs is read only for rows that the table did not have.
      if table.contains("INDEXED BY"), try isWhole(connection, "blobs NOT INDEXED") { continue }
      for order in orders {
        do throws(StoreError) {
          try walk(connection, "SELECT key, value FROM \(table) ORDER BY \(order)") {
            (found) throws(StoreError) in
            guard let key = found.column(0), !key.isEmpty, let value = found.column(1) else {
              return
            }
            try row(Bytes(key), Bytes(value))
          }
          // The walk reached the other end, so the reverse walk is not necessary.
          break
        } catch {
          guard [.damaged, .foreign].contains(error.code) else { throw error }
          if order == orders[0], !table.contains("INDEXED BY") {
            lost(
              StoreFinding(
                file: path, offset: 0, bytes: 0,
                words: "the table \(table.prefix { $0 != " " }) cannot be read to its end: "
                  + (error.cause ?? error.message)))
          }
        }
      }
    }
  }

  private static func isWhole(
    _ connection: Connection, _ table: String
  ) throws(StoreError) -> Bool {
    do throws(StoreError) {
      // Nothing is copied: Swift 6.3's optimizer frees the memory of an unused copy before it is
      // filled.
      try walk(connection, "SELECT key, value FROM \(table)") { (_) throws(StoreError) in }
      return true
    } catch {
      guard [.damaged, .foreign].contains(error.code) else { throw error }
      return false
    }
  }

  private static func walk(
    _ connection: Connection, _ sql: String,
    _ visit: (Statement) throws(StoreError) -> Void
  ) throws(StoreError) {
    let statement = try Statement(connection, sql)
    while true {
      switch statement.step() {
      case SQLITE_ROW: try visit(statement)
      case SQLITE_DONE: return
      case let code: throw connection.failure(code, sql)
      }
    }
  }
}
