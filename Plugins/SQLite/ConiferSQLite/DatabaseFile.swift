import CSQLite
import ConiferKeyValue
import ConiferStorage

/// The database file of a store: its name, its creation and the check of its format.
///
/// A new database is built under another name and renamed when it is complete. So an empty or
/// truncated file of the final name is damage, not an interrupted creation.
struct DatabaseFile {
  /// "Cnfr", in the header's field for the application that owns a database.
  static let application: UInt32 = 0x436E_6672
  /// The newest format that this code reads, in the header's user version.
  static let version: UInt32 = 1
  static let pageSize = 4096

  let path: String
  let options: SQLiteOptions
  /// Syncs its files where SQLite's own sync is not enough.
  let customSync: CustomSync?

  /// The log gets its first frame when the database's name is durable; its index may be there before.
  static let files = StoreFiles(
    kind: "sqlite", main: "conifer.sqlite",
    later: ["conifer.sqlite-wal", "conifer.sqlite-journal"])

  /// Whether a name is that of a database, whole or being made, or of what SQLite keeps beside one.
  @Sendable static func isName(_ name: String) -> Bool {
    [files.main, files.main + ".new"].contains { database in
      ["", "-wal", "-shm", "-journal"].contains { name == database + $0 }
    }
  }

  init(directory: String, options: SQLiteOptions, customSync: CustomSync? = Platform.customSync) {
    path = directory + "/" + Self.files.main
    self.options = options
    self.customSync = customSync
  }

  var log: String { path + "-wal" }
  private var index: String { path + "-shm" }
  private var draft: String { path + ".new" }

  /// Bytes of all files together.
  func length() throws(StoreError) -> Int {
    var total = 0
    for file in [path, log, index] { total += try Platform.length(of: file) }
    return total
  }

  /// Checks an existing database without SQLite, or makes a new one.
  ///
  /// - Throws: `foreign`, `newerFormat`, `damaged`, `denied`, `full`, `io`.
  func prepare() throws(StoreError) {
    switch try Platform.kind(of: path) {
    case .file(let length): try inspect(length)
    case .directory: throw foreign("it is a directory")
    // SQLite would replay an old log into the new database: the owner's lock has refused that.
    case .missing: try create()
    }
  }

  /// Creates the log and its index, empty, where they are missing: when SQLite cannot create them
  /// on a full disk, it reports a missing file.
  ///
  /// - Throws: `denied`, `full`, `io`.
  func makeLog() throws(StoreError) {
    guard options.vfs == nil else { return }
    try Platform.makeFile(log, length: 0)
    try Platform.makeFile(index, length: Self.indexLength)
  }

  /// The size in bytes to which SQLite extends the index at once.
  private static let indexLength = 32 << 10

  private func foreign(_ why: String) -> StoreError {
    StoreError(
      .foreign, "\(path) is not a Conifer database: \(why). Use another path for the store.")
  }

  /// Reads the header, which lies at fixed places, as the SQLite file format says.
  private func inspect(_ length: Int) throws(StoreError) {
    guard let header = Platform.read(path, limit: 100) else {
      // SQLite opens the file again, so that its error tells the reason.
      let connection = try Connection(path, flags: SQLITE_OPEN_READWRITE, vfs: options.vfs)
      connection.close()
      throw StoreError(.io, "The header of \(path) cannot be read. Check the volume.")
    }
    let magic = Bytes("SQLite format 3\0".utf8)
    guard header.prefix(16).elementsEqual(magic.prefix(header.count)) else {
      // An encrypting VFS may hide the header: then SQLite itself must check the file.
      if options.vfs != nil { return }
      throw foreign("it does not begin as a SQLite database")
    }
    guard header.count == 100, length >= 2 * Self.pageSize else {
      throw damaged(path, cause: "the file ends after \(length) bytes")
    }
    func number(_ offset: Int) -> UInt32 {
      header[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }
    guard number(68) == Self.application else {
      throw foreign("its application id is \(number(68))")
    }
    try accept(version: number(60))
    let pageSize = Int(header[16]) << 8 | Int(header[17])
    guard pageSize == Self.pageSize, (1...2).contains(header[18]), (1...2).contains(header[19])
    else {
      throw damaged(path, cause: "the header names page size \(pageSize) or an unknown format")
    }
    // With a log, a valid database may be shorter than its header says: a checkpoint writes the
    // header first.
    if try Platform.length(of: log) == 0, number(24) == number(92) {
      let stated = Int(number(28)) * Self.pageSize
      guard length >= stated else {
        throw damaged(path, cause: "the file has \(length) of \(stated) bytes")
      }
    }
  }

  private func accept(version: UInt32) throws(StoreError) {
    guard version <= Self.version else {
      throw StoreError(
        .newerFormat,
        "\(path) has format \(version), this Conifer reads up to \(Self.version). "
          + "Update Conifer to open it.")
    }
    guard version > 0 else { throw damaged(path, cause: "the header names format 0") }
  }

  private func create() throws(StoreError) {
    for leftover in [draft, draft + "-journal", draft + "-wal"] { try Platform.remove(leftover) }
    let connection = try Connection(
      draft, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs: options.vfs)
    defer { connection.close() }
    try connection.execute(
      """
      PRAGMA page_size=\(Self.pageSize);
      PRAGMA auto_vacuum=INCREMENTAL;
      PRAGMA fullfsync=ON;
      PRAGMA synchronous=FULL;
      BEGIN;
      PRAGMA application_id=\(Self.application);
      PRAGMA user_version=\(Self.version);
      CREATE TABLE rows(key BLOB NOT NULL PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
      CREATE TABLE blobs(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, value BLOB NOT NULL);
      COMMIT
      """)
    connection.close()
    // SQLite gives the log and its index the database's own permissions.
    try Platform.makePrivate(draft)
    if customSync != nil, options.vfs == nil { try Platform.syncFile(draft) }
    try Platform.rename(draft, to: path)
  }

  /// Opens the one connection that writes and checkpoints, and checks the format through it.
  func openWriter() throws(StoreError) -> Connection {
    let connection = try Connection(path, flags: SQLITE_OPEN_READWRITE, vfs: options.vfs)
    do throws(StoreError) {
      try connection.execute(
        """
        PRAGMA busy_timeout=5000;
        PRAGMA trusted_schema=OFF;
        PRAGMA cell_size_check=ON;
        PRAGMA fullfsync=ON;
        PRAGMA checkpoint_fullfsync=ON;
        PRAGMA synchronous=NORMAL;
        PRAGMA temp_store=MEMORY;
        PRAGMA secure_delete=\(options.wipesDeleted ? "ON" : "OFF");
        PRAGMA cache_size=-\(max(options.writerCache >> 10, 64));
        PRAGMA mmap_size=0
        """)
      let mode = try connection.texts("PRAGMA journal_mode=WAL")
      guard mode == ["wal"] else {
        throw StoreError(
          .unsupported, "\(path) cannot use a write-ahead log here; put it on a local volume.",
          cause: "journal mode \(mode.first ?? "unknown")")
      }
      // This follows the change of mode, since only that opens the log.
      try connection.execute("PRAGMA journal_size_limit=\(max(options.logKept, 0))")
      try checkFormat(connection)
      // A database or a log that could only be opened for reading is noticed here.
      if sqlite3_db_readonly(connection.handle, "main") != 0 {
        throw connection.failure(SQLITE_READONLY, "open")
      }
      try connection.execute("BEGIN IMMEDIATE; ROLLBACK")
      // The log's name exists by now; SQLite syncs the directory too, but ignores a failure.
      try Platform.syncDirectory(Platform.parent(of: path))
      return connection
    } catch {
      // A refused opening changes nothing: the log is not checkpointed either.
      _ = conifer_sqlite_no_checkpoint_on_close(connection.handle)
      connection.close()
      throw error
    }
  }

  /// Checks the format through a connection.
  ///
  /// - Throws: `foreign`, `newerFormat`, `damaged`, `busy`, `io`.
  func checkFormat(_ connection: Connection) throws(StoreError) {
    guard try connection.integer("PRAGMA application_id") == Int(Self.application) else {
      throw foreign("its application id is another one")
    }
    try accept(version: UInt32(truncatingIfNeeded: connection.integer("PRAGMA user_version")))
  }

  /// Which files a connection has open, as long as it has; nil when one is missing.
  var identity: [FileIdentity]? {
    let files = [path, log, index].compactMap(FileIdentity.init)
    return files.count == 3 ? files : nil
  }

  /// Opens a connection that only reads; it never checkpoints, not even as the last one to close.
  func openReader() throws(StoreError) -> Connection {
    let connection = try Connection(path, flags: SQLITE_OPEN_READONLY, vfs: options.vfs)
    _ = conifer_sqlite_no_checkpoint_on_close(connection.handle)
    try connection.execute(
      """
      PRAGMA busy_timeout=5000;
      PRAGMA query_only=ON;
      PRAGMA trusted_schema=OFF;
      PRAGMA cell_size_check=ON;
      PRAGMA wal_autocheckpoint=0;
      PRAGMA temp_store=MEMORY;
      PRAGMA cache_size=-\(max(options.readerCache >> 10, 64));
      PRAGMA mmap_size=\(max(options.mapped, 0))
      """)
    return connection
  }
}

/// Makes an open file survive power loss; zero or an `errno`.
typealias CustomSync = @Sendable (_ descriptor: Int32) -> Int32
