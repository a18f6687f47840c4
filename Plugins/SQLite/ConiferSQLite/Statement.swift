import CSQLite
import ConiferKeyValue

/// A prepared statement that owns the memory of the keys bound to it.
final class Statement {
  private(set) var handle: OpaquePointer?
  // SQLite binds keys without copying them, so each key stays in a buffer here until it is bound
  // again.
  private var buffers: (UnsafeMutableRawBufferPointer?, UnsafeMutableRawBufferPointer?) = (nil, nil)

  init(_ connection: Connection, _ sql: String) throws(StoreError) {
    var handle: OpaquePointer?
    let code = distinguishingReadErrors {
      sqlite3_prepare_v3(
        connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
    }
    guard code == SQLITE_OK, let handle else { throw connection.failure(code, sql) }
    self.handle = handle
  }

  deinit {
    finish()
    buffers.0?.deallocate()
    buffers.1?.deallocate()
  }

  /// Lets go of the statement before its connection closes; it is of no use afterwards.
  func finish() {
    sqlite3_finalize(handle)
    handle = nil
  }

  /// Goes to the next row: `SQLITE_ROW`, `SQLITE_DONE` or an error.
  func step() -> Int32 { distinguishingReadErrors { sqlite3_step(handle) } }

  /// Ends the run, so that the statement may be bound and run again.
  func reset() { sqlite3_reset(handle) }

  /// Binds the stored form of a key, its space byte and then its own bytes, as parameter 1 or 2.
  func bind(key: Bytes, in space: UInt8, to parameter: Int32) -> Int32 {
    let count = key.count + 1
    let buffer = room(count, parameter)
    buffer[0] = space
    key.withUnsafeBytes { bytes in
      UnsafeMutableRawBufferPointer(rebasing: buffer[1..<count]).copyMemory(from: bytes)
    }
    return sqlite3_bind_blob64(handle, parameter, buffer.baseAddress, UInt64(count), nil)
  }

  private func room(_ count: Int, _ parameter: Int32) -> UnsafeMutableRawBufferPointer {
    let held = parameter == 1 ? buffers.0 : buffers.1
    if let held, held.count >= count { return held }
    held?.deallocate()
    let fresh = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, 256), alignment: 1)
    if parameter == 1 { buffers.0 = fresh } else { buffers.1 = fresh }
    return fresh
  }

  /// Binds lent bytes as parameter 2; they must stay in place until the statement is reset.
  func bind(value: UnsafeRawBufferPointer) -> Int32 {
    // A null pointer would bind NULL, not an empty value.
    guard let start = value.baseAddress, value.count > 0 else {
      return sqlite3_bind_zeroblob(handle, 2, 0)
    }
    return sqlite3_bind_blob64(handle, 2, start, UInt64(value.count), nil)
  }

  /// Whether a statement that selects keys from its first parameter up to its second finds one of a space.
  func findsRow(of space: Space, _ connection: Connection) throws(StoreError) -> Bool {
    try connection.check(bind(key: [], in: space.id, to: 1), "bind a key")
    try connection.check(bind(key: [], in: space.id + 1, to: 2), "bind a key")
    switch step() {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code: throw connection.failure(code, "find a row")
    }
  }

  /// A column of the current row as text.
  func text(_ index: Int32) -> String {
    sqlite3_column_text(handle, index).map { String(cString: $0) } ?? ""
  }

  /// The bytes of a column of the current row, lent until the next step or reset; nil when the
  /// column is not a byte string, which only damage makes it.
  func column(_ index: Int32) -> UnsafeRawBufferPointer? {
    guard sqlite3_column_type(handle, index) == SQLITE_BLOB else { return nil }
    let start = sqlite3_column_blob(handle, index)
    let count = Int(sqlite3_column_bytes(handle, index))
    if start == nil, count > 0 { return nil }
    return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
  }
}
