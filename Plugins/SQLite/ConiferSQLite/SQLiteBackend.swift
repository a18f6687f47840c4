import ConiferKeyValue
public import ConiferStorage

/// A backend on SQLite.
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
    StorageConfiguration(name: "sqlite", location: directory, options: options) {
      () throws(StoreError) in
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
        throw StoreError(.invalid, "cache=\(text) makes no sense: it takes at least 64KB.")
      }
      own.writerCache = bytes
    }
    return .sqlite(at: url.path, options: options, sqlite: own)
  }
}
