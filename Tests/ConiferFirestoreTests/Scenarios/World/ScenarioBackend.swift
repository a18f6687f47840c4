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

  /// The storage in a directory. It need not survive power loss, nor go on when the disk is full, so that it is quick.
  func storage(at directory: String) -> StorageConfiguration {
    var options = StorageOptions(compression: .none, durability: .process)
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
