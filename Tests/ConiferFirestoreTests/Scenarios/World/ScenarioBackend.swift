import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferStorage
import JournalStore
import TestSupport

#if RocksDB
  import ConiferRocksDB
#endif

/// The options that cases run with.
enum ScenarioOptions: String, Sendable {
  /// Data need not survive power loss and is not packed, so that it is quick.
  case quick
  /// Those of an app that names none: a write is sent once it survives power loss, and so must the token of its stream.
  case usual

  fileprivate var storage: StorageOptions {
    switch self {
    case .quick: StorageOptions(compression: .none, durability: .process)
    case .usual: StorageOptions()
    }
  }
}

/// The backends that cases run on; the journal is the outside example's.
enum ScenarioBackend: String, CaseIterable, Sendable {
  case memory
  /// Memory that keeps documents only as long as something needs them.
  case eagerMemory
  case sqlite
  case lmdb
  case log
  case journal
  #if RocksDB
    case rocksDB
  #endif

  /// Whether data and writes outlive the process.
  var isDurable: Bool {
    switch self {
    case .memory, .eagerMemory: false
    default: true
    }
  }

  /// Why a case does not run here; nil when it does.
  func reasonToSkip(_ scenario: Scenario) -> String? {
    if scenario.clientCount > 1 || scenario.tags.contains("multi-client") {
      return "it is of several clients that share a store"
    }
    if scenario.tags.contains("durable-persistence"), !isDurable {
      return "it needs a store that outlives the client"
    }
    let collectsEagerly = self == .eagerMemory
    if scenario.tags.contains("eager-gc"), !collectsEagerly { return "it needs eager collection" }
    if collectsEagerly, !scenario.usesEagerCollection {
      return "it needs documents that nobody uses"
    }
    return nil
  }

  /// The storage in a directory. It need not go on when the disk is full.
  func storage(at directory: String, _ options: ScenarioOptions) -> StorageConfiguration {
    var options = options.storage
    switch self {
    case .memory, .eagerMemory:
      options.durability = .strongest
      return .memory(options)
    case .sqlite:
      var sqlite = SQLiteOptions()
      sqlite.reserve = 0
      return .sqlite(at: directory, options: options, sqlite: sqlite)
    case .lmdb: return .lmdb(at: directory, options: options, lmdb: LMDBOptions(reserve: 0))
    case .log:
      var log = LogOptions()
      (log.segment, log.reserve) = (64 << 10, 0)
      return .log(at: directory, options: options, log: log)
    case .journal: return .journal(at: directory, options: options)
    #if RocksDB
      case .rocksDB:
        var rocksdb = RocksDBOptions()
        rocksdb.reserve = 0
        return .rocksdb(at: directory, options: options, rocksdb: rocksdb)
    #endif
    }
  }
}
