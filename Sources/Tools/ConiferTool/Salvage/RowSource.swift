import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferRocksDB
import ConiferSQLite
import ConiferStorage

/// Reads the rows of a damaged store's files without opening the store, each backend's in its way.
enum RowSource {
  /// Puts every row that can be read into another store.
  ///
  /// - Parameters:
  ///   - scratch: a directory for a copy of the files, where the engine must write to read.
  ///   - lost: gets what could not be read.
  static func read(
    _ address: StoreAddress, scratch: String, into store: LogStore,
    lost: (StoreFinding) -> Void
  ) throws {
    var writer = RowWriter(store: store)
    func put(_ key: Bytes, _ value: Bytes) throws(StoreError) {
      guard let id = key.first, id > 0, id < 255 else { return }
      try writer.add(
        .put(Space(id: id, shape: .rows), key: Bytes(key.dropFirst()), value: value),
        size: key.count + value.count)
    }
    switch address.kind.name {
    case "lmdb":
      try LMDBSalvage.read(
        address.directory, row: { (key, value) throws(StoreError) in try put(key, value) },
        lost: lost)
    case "sqlite":
      try Platform.copyFiles(
        address.directory, to: scratch, leaving: StoreVerification.locks)
      try SQLiteSalvage.read(
        scratch, row: { (key, value) throws(StoreError) in try put(key, value) }, lost: lost)
    case "log":
      try LogSalvage.read(
        address.directory, precious: SalvagedRegistry.precious,
        edit: { (edit) throws(StoreError) in
          var size = 32
          if case .put(_, let key, let value) = edit { size = key.count + value.count }
          try writer.add(edit, size: size)
        }, lost: lost)
    #if RocksDB
      case "rocksdb":
        try Platform.copyFiles(
          address.directory, to: scratch, leaving: StoreVerification.locks)
        try RocksDBSalvage.read(
          scratch, row: { (key, value) throws(StoreError) in try put(key, value) }, lost: lost)
    #endif
    default:
      throw Failure.usage("Nothing is known of the files of \(address.kind.name).")
    }
    try writer.finish()
  }

  /// Gathers edits into batches of a few megabytes.
  private struct RowWriter {
    let store: LogStore
    var batch = Batch()
    var size = 0

    mutating func add(_ edit: Batch.Edit, size bytes: Int) throws(StoreError) {
      switch edit {
      case .put(let space, let key, let value): batch.put(space, key, value)
      case .delete(let space, let key): batch.delete(space, key)
      case .clear(let space, let from, let to): batch.clear(space, from: from, to: to)
      }
      size += bytes
      if size > 4 << 20 { try finish() }
    }

    mutating func finish() throws(StoreError) {
      guard !batch.isEmpty else { return }
      _ = try store.apply(batch, .process)
      batch = Batch()
      size = 0
    }
  }
}
