import CSQLite
import ConiferKeyValue
public import ConiferStorage

/// The storage backend over a ``SQLiteStore``.
public typealias SQLiteBackend = PackedBackend<SQLiteStore>

extension StorageConfiguration {
  /// Storage in SQLite, in a directory of its own.
  ///
  /// - Parameters:
  ///   - directory: made if it is missing.
  ///   - options: the options that every backend takes.
  ///   - sqlite: SQLite's own.
  public static func sqlite(
    at directory: String, options: StorageOptions = StorageOptions(),
    sqlite: SQLiteOptions = SQLiteOptions()
  ) -> StorageConfiguration {
    let salvage = SalvageMethod(
      read: { (directory, scratch, edit, lost) throws(StoreError) in
        // SQLite writes where it reads.
        try Directory.copyFiles(directory, to: scratch, leaving: ["owner"])
        try SQLiteSalvage.read(
          scratch,
          row: { (key, value) throws(StoreError) in
            if let row = SalvageMethod.row(key, value) { try edit(row) }
          }, lost: lost)
      },
      rows: { (directory) throws(StoreError) in try SQLiteStore(at: directory, sqlite) },
      elsewhere: { directory, options in .sqlite(at: directory, options: options, sqlite: sqlite) })
    return StorageConfiguration(
      name: "sqlite", location: directory, options: options, salvage: salvage,
      reading: { (directory) throws(StoreError) in try SQLiteReader(at: directory, sqlite) },
      files: DatabaseFile.isName
    ) { (options) throws(StoreError) in
      try SQLiteBackend.open(SQLiteStore(at: directory, sqlite), name: "sqlite", options: options)
    }
  }
}

extension StorageKind {
  /// `sqlite:///path`: storage in SQLite.
  public static let sqlite = StorageKind(
    name: "sqlite",
    options: [Option("cache", "the page cache of the writing connection, such as 4MB")],
    files: ["conifer.sqlite", "conifer.sqlite-wal"]
  ) { (url, options) throws(StoreError) in
    var own = SQLiteOptions()
    if let text = url.value(of: "cache") {
      guard let bytes = StorageOptions.byteCount(text), bytes >= 64 << 10 else {
        throw StoreError(.invalid, "cache=\(text) is not valid. Set at least 64KB.")
      }
      own.writerCache = bytes
    }
    return .sqlite(at: url.path, options: options, sqlite: own)
  }
  .kept(by: "SQLite \(String(cString: sqlite3_libversion()))")
}
