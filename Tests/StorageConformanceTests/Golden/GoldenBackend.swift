import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferRocksDB
import ConiferSQLite
import ConiferStorage
import TestSupport

/// A backend of which golden stores are kept, one a format, in `Tests/Fixtures`.
enum GoldenBackend: String, CaseIterable, Sendable {
  case lmdb, sqlite, log
  #if RocksDB
    case rocksdb
  #endif

  /// The format whose stores are made now.
  static let format = 1

  /// The folder of the golden stores, beside the tests.
  static var fixtures: String {
    #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
      .joined(separator: "/") + "/Fixtures"
  }

  /// The files of a golden store, which a test must not open but copy.
  func files(_ format: Int) -> String { "\(Self.fixtures)/\(rawValue)/format-\(format)" }

  /// What a golden store holds.
  func manifest(_ format: Int) -> String { files(format) + ".json" }

  /// What belongs to a run and not to the store: who owned it, who was reading, empty space, what an engine told.
  static func isPassing(_ name: String) -> Bool {
    let names = [
      "owner", "lock.mdb", "conifer.sqlite-shm", "LOG", "LOCK", "IDENTITY", "conifer.reserve",
    ]
    return names.contains(name) || name.hasPrefix("LOG.old.")
  }

  /// Whether opening a store changes no file. RocksDB begins new files whenever it opens.
  var opensUnchanged: Bool {
    switch self {
    case .lmdb, .sqlite, .log: true
    #if RocksDB
      case .rocksdb: false
    #endif
    }
  }

  /// Sizes so small that a small store has tables, sealed segments and a journal.
  private static var smallLog: LogOptions {
    var options = LogOptions()
    options.segment = 32 << 10
    options.tail = 4 << 10
    options.journal = 24 << 10
    options.reserve = 4 << 10
    return options
  }

  #if RocksDB
    /// Memory so small that a small store has sorted files of several levels.
    private static var smallRocksDB: RocksDBOptions {
      var options = RocksDBOptions()
      options.memtable = 64 << 10
      options.openFiles = 16
      return options
    }
  #endif

  /// Opens the backend without a budget, so that all stays that was written.
  ///
  /// - Parameter layer: the encryption of an encrypted store.
  func open(
    _ path: String, small: Bool = false, _ layer: (any StoreLayer)? = nil
  ) throws -> any StorageBackend {
    let options = StorageOptions(budget: nil, durability: .process, encryption: layer)
    switch self {
    case .lmdb: return try StorageConfiguration.lmdb(at: path, options: options).open()
    case .sqlite: return try StorageConfiguration.sqlite(at: path, options: options).open()
    case .log:
      return try StorageConfiguration.log(
        at: path, options: options, log: small ? Self.smallLog : LogOptions()
      ).open()
    #if RocksDB
      case .rocksdb:
        return try StorageConfiguration.rocksdb(
          at: path, options: options, rocksdb: small ? Self.smallRocksDB : RocksDBOptions()
        ).open()
    #endif
    }
  }

  /// Opens the ordered store alone.
  func store(_ path: String, small: Bool = false) throws -> any OrderedStore {
    switch self {
    case .lmdb: try LMDBStore(at: path)
    case .sqlite: try SQLiteStore(at: path)
    case .log: try LogStore(at: path, small ? Self.smallLog : LogOptions())
    #if RocksDB
      case .rocksdb: try RocksDBStore(at: path, small ? Self.smallRocksDB : RocksDBOptions())
    #endif
    }
  }
}
