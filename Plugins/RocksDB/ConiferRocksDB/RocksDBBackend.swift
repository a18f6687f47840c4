#if RocksDB
  import ConiferKeyValue
  public import ConiferStorage

  /// The storage backend over a ``RocksDBStore``.
  public typealias RocksDBBackend = PackedBackend<RocksDBStore>

  extension StorageConfiguration {
    /// Storage in RocksDB, in a directory of its own.
    ///
    /// - Parameters:
    ///   - directory: made if it is missing.
    ///   - options: the options that every backend takes.
    ///   - rocksdb: RocksDB's own.
    public static func rocksdb(
      at directory: String, options: StorageOptions = StorageOptions(),
      rocksdb: RocksDBOptions = RocksDBOptions()
    ) -> StorageConfiguration {
      let salvage = SalvageMethod(
        read: { (directory, scratch, edit, lost) throws(StoreError) in
          // RocksDB writes where it reads.
          try Directory.copyFiles(directory, to: scratch, leaving: ["owner", "LOCK"])
          try RocksDBSalvage.read(
            scratch,
            row: { (key, value) throws(StoreError) in
              if let row = SalvageMethod.row(key, value) { try edit(row) }
            }, lost: lost)
        },
        rows: { (directory) throws(StoreError) in try RocksDBStore(at: directory, rocksdb) },
        elsewhere: { directory, options in
          .rocksdb(at: directory, options: options, rocksdb: rocksdb)
        })
      return StorageConfiguration(
        name: "rocksdb", location: directory, options: options, salvage: salvage,
        files: Marker.isName
      ) { (options) throws(StoreError) in
        try RocksDBBackend.open(
          RocksDBStore(at: directory, rocksdb), name: "rocksdb", options: options)
      }
    }
  }

  extension StorageKind {
    /// `rocksdb:///path`: storage in RocksDB.
    public static let rocksdb = StorageKind(
      name: "rocksdb",
      options: [Option("cache", "the blocks kept in memory for reading, such as 4MB")],
      files: [Marker.name, Marker.draft]
    ) { (url, options) throws(StoreError) in
      var own = RocksDBOptions()
      if let text = url.value(of: "cache") {
        guard let bytes = StorageOptions.byteCount(text), bytes >= 64 << 10 else {
          throw StoreError(.invalid, "cache=\(text) is invalid: it takes at least 64KB.")
        }
        own.blockCache = bytes
      }
      return .rocksdb(at: url.path, options: options, rocksdb: own)
    }
  }
#endif
