#if RocksDB
  internal import CRocksDB
  package import ConiferKeyValue
  internal import ConiferStorage

  /// Reads what can be read of a damaged store: the sorted files that the manifest names, or all
  /// sorted files when the manifest cannot be read, and the valid records of the logs.
  package enum RocksDBSalvage {
    /// Reads a copy of a store's files in a separate directory: RocksDB may have to repair it.
    ///
    /// - Parameters:
    ///   - row: gets each row's key behind its space's number, and its value; some come twice.
    ///   - lost: gets what could not be read.
    /// - Throws: `damaged` when nothing can be opened, `io`, what `row` throws.
    package static func read(
      _ directory: String, row: (_ key: Bytes, _ value: Bytes) throws(StoreError) -> Void,
      lost: (StoreFinding) -> Void
    ) throws(StoreError) {
      let hasData = try System.files(in: directory).contains {
        $0.name.hasSuffix(".sst") || $0.name.hasSuffix(".log") || $0.name.hasPrefix("MANIFEST-")
      }
      guard hasData else { throw .rocksDBDamaged(directory, "its files are missing") }
      for finding in try WriteAheadLog.losses(directory) { lost(finding) }
      func tell(_ error: StoreError) {
        lost(
          StoreFinding(
            file: directory, offset: 0, bytes: 0, words: error.cause ?? error.message))
      }
      do throws(StoreError) {
        if try walk(directory, row, tell) { return }
      } catch {
        guard [.damaged, .newerFormat].contains(error.code) else { throw error }
        tell(error)
      }
      try Engine.repair(directory)
      _ = try walk(directory, row, tell)
    }

    /// Walks all rows from the first, and from the last when that ends early.
    ///
    /// - Returns: whether anything was found.
    private static func walk(
      _ directory: String, _ row: (_ key: Bytes, _ value: Bytes) throws(StoreError) -> Void,
      _ tell: (StoreError) -> Void
    ) throws(StoreError) -> Bool {
      let engine = try Engine(directory, RocksDBOptions(), isReadOnly: true, salvages: true)
      var count = 0
      for descends in [false, true] {
        guard let error = try walk(engine, descends, &count, row) else { break }
        if !descends { tell(error) }
      }
      return count > 0
    }

    /// Walks rows in one direction; the damage that ended it, nil at the end.
    ///
    /// - Throws: `io`, what `row` throws.
    private static func walk(
      _ engine: Engine, _ descends: Bool, _ count: inout Int,
      _ row: (_ key: Bytes, _ value: Bytes) throws(StoreError) -> Void
    ) throws(StoreError) -> StoreError? {
      guard let iterator = rocksdb_create_iterator(engine.handle, engine.tuning.reading) else {
        return .rocksDBDamaged(engine.path, "it cannot be read")
      }
      defer { rocksdb_iter_destroy(iterator) }
      if descends {
        rocksdb_iter_seek_to_last(iterator)
      } else {
        rocksdb_iter_seek_to_first(iterator)
      }
      while rocksdb_iter_valid(iterator) != 0 {
        var length = 0
        let key = rocksdb_iter_key(iterator, &length)
        var size = 0
        let value = rocksdb_iter_value(iterator, &size)
        count += 1
        try row(
          Bytes(UnsafeRawBufferPointer(start: key, count: length)),
          Bytes(UnsafeRawBufferPointer(start: value, count: size)))
        if descends { rocksdb_iter_prev(iterator) } else { rocksdb_iter_next(iterator) }
      }
      guard let words = withErrorMessage({ rocksdb_iter_get_error(iterator, $0) }).1 else {
        return nil
      }
      let error = StoreError.rocksDB(words, "read", engine.path)
      guard [.damaged, .newerFormat].contains(error.code) else { throw error }
      return error
    }
  }

  extension Engine {
    /// Lets RocksDB make a new manifest of all the files that it can read.
    ///
    /// - Throws: `damaged`, `io`.
    fileprivate static func repair(_ directory: String) throws(StoreError) {
      let tuning = Tuning(RocksDBOptions(), creates: false, salvages: true)
      if let words = withErrorMessage({ rocksdb_repair_db(tuning.options, directory, $0) }).1 {
        throw .rocksDB(words, "repair", directory)
      }
    }
  }

  extension WriteAheadLog {
    /// The invalid parts of the logs, without a tail that a crash may have torn.
    ///
    /// - Throws: `denied`, `io`.
    fileprivate static func losses(_ directory: String) throws(StoreError) -> [StoreFinding] {
      let logs = try logs(directory)
      var found: [StoreFinding] = []
      for log in logs {
        let path = directory + "/" + log.name
        let read = WriteAheadLog(try System.read(path, log.length))
        guard read.end < log.length, read.isDamaged || log.name != logs.last?.name else { continue }
        found.append(
          StoreFinding(
            file: path, offset: read.end, bytes: log.length - read.end,
            words: "the log is broken within what had been synced"))
      }
      return found
    }
  }
#endif
