internal import CLMDB
internal import ConiferKeyValue
internal import ConiferStorage

/// The record that marks an LMDB file as a store of Conifer and says its version.
///
/// Space byte 0 belongs to the store itself (spaces have 1 to 254). Key: 0 and "format". Value: the
/// magic, then the version as 4 bytes, least first; later versions may append.
enum LMDBFormat {
  /// The version that this code writes and reads.
  static let version = 1

  static let key: Bytes = [0] + Bytes("format".utf8)
  private static let magic = Bytes("Conifer LMDB".utf8)

  static var record: Bytes { record(version: version) }

  static func record(version: Int) -> Bytes {
    magic + (0..<4).map { UInt8(truncatingIfNeeded: version >> (8 * $0)) }
  }

  /// Checks the record of an open environment and returns the handle of its tree.
  ///
  /// - Throws: `foreign`, `newerFormat`, `damaged`, `io`.
  static func check(_ handle: OpaquePointer, _ path: String) throws(StoreError) -> MDB_dbi {
    var begun: OpaquePointer?
    var result = beginReading(handle, &begun)
    guard result == 0, let transaction = begun else { throw .lmdb(result, "read", path) }
    var tree: MDB_dbi = 0
    result = mdb_dbi_open(transaction, nil, 0, &tree)
    guard result == 0 else {
      mdb_txn_abort(transaction)
      throw .lmdb(result, "read", path)
    }
    var found: Bytes?
    var value = MDB_val()
    result = withStored(key) { key in
      var key = key
      return mdb_get(transaction, tree, &key, &value)
    }
    if result == 0 { found = Bytes(UnsafeRawBufferPointer(value)) }
    // Committing keeps the handle of the tree for later transactions.
    mdb_txn_commit(transaction)
    guard result == 0 || result == MDB_NOTFOUND else { throw .lmdb(result, "read", path) }
    guard let found, found.starts(with: magic) else {
      throw StoreError(
        .foreign,
        "The LMDB file in \(path) was not made by Conifer. Use another directory for the store.")
    }
    let version = found.number(at: magic.count, bytes: 4)
    guard version >= 1, found.count >= magic.count + 4 else {
      throw LMDBMeta.damaged(path, "its format record is not readable")
    }
    guard version <= Self.version else {
      throw StoreError(
        .newerFormat,
        "The store in \(path) has format \(version); this version of Conifer reads up to "
          + "\(Self.version). Update Conifer to open it.")
    }
    return tree
  }

  /// Begins a read transaction in an environment that has none; where another process has enlarged the map, this one
  /// follows.
  ///
  /// - Returns: 0, or LMDB's code.
  static func beginReading(_ handle: OpaquePointer, _ transaction: inout OpaquePointer?) -> Int32 {
    while true {
      let result = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
      guard result == MDB_MAP_RESIZED else { return result }
      // Zero stands for the size that the owner has stored.
      let resized = mdb_env_set_mapsize(handle, 0)
      guard resized == 0 else { return resized }
    }
  }

  /// Makes a new data file with the record in it, in a directory of its own, and moves it into
  /// place, so that `data.mdb` is either missing or whole, wherever a crash falls.
  ///
  /// - Throws: `denied`, `full`, `io`.
  static func create(in path: String) throws(StoreError) {
    let draft = path + "/new"
    try Platform.makeDirectory(draft)
    // Left behind by an interrupted creation; it was never an open store.
    let removed = System.remove(draft + "/data.mdb")
    guard removed == 0 else { throw Platform.error(removed, "replace the file in", draft) }
    var made: OpaquePointer?
    var result = mdb_env_create(&made)
    guard result == 0, let handle = made else { throw .lmdb(result, "create", path) }
    result = fill(handle, draft)
    mdb_env_close(handle)
    guard result == 0 else { throw .lmdb(result, "create", path) }
    // Synced again here, for systems where LMDB's own sync is weaker.
    if let file = System.open(draft + "/data.mdb", writing: true) {
      result = Platform.sync(file)
      Platform.close(file)
    } else {
      result = System.lastError
    }
    if result == 0 { result = System.move(draft + "/data.mdb", path + "/data.mdb") }
    guard result == 0 else { throw Platform.error(result, "create the LMDB file in", path) }
    System.removeDirectory(draft)
    try Platform.syncDirectory(path)
    // The process that made the directory may have died before its sync.
    try? Platform.syncDirectory(Platform.parent(of: path))
  }

  private static func fill(_ handle: OpaquePointer, _ directory: String) -> Int32 {
    var result = mdb_env_open(handle, directory, UInt32(MDB_NOLOCK), 0o600)
    guard result == 0 else { return result }
    var begun: OpaquePointer?
    result = mdb_txn_begin(handle, nil, 0, &begun)
    guard result == 0, let transaction = begun else { return result }
    var tree: MDB_dbi = 0
    result = mdb_dbi_open(transaction, nil, 0, &tree)
    if result == 0 {
      result = withStored(key) { key in
        withStored(record) { value in
          var key = key
          var value = value
          return mdb_put(transaction, tree, &key, &value, 0)
        }
      }
    }
    guard result == 0 else {
      mdb_txn_abort(transaction)
      return result
    }
    return mdb_txn_commit(transaction)
  }

  /// Lends bytes as an `MDB_val`, for reading only.
  static func withStored<R>(_ bytes: Bytes, _ body: (MDB_val) -> R) -> R {
    bytes.withUnsafeBytes {
      body(
        MDB_val(
          mv_size: $0.count, mv_data: UnsafeMutableRawPointer(mutating: $0.baseAddress)))
    }
  }
}
