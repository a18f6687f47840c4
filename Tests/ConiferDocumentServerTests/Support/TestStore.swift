import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferStorage
import JournalStore
import TestSupport
import Testing

#if RocksDB
  import ConiferRocksDB
#endif

/// The backends that the server is tested on; the journal is the outside example's.
enum TestStore: String, CaseIterable, CustomTestStringConvertible, Sendable {
  case memory
  case sqlite
  case lmdb
  case log
  case journal
  #if RocksDB
    case rocksDB
  #endif

  /// Those that hold after they are closed.
  static let onDisk = allCases.filter { $0 != .memory }

  var testDescription: String { rawValue }

  func configuration(_ scratch: Scratch) -> StorageConfiguration {
    // What is tested here survives the end of the process; power loss is the backends' own tests'.
    let options = StorageOptions(durability: self == .memory ? .strongest : .process)
    switch self {
    case .memory: return .memory(options)
    case .sqlite: return .sqlite(at: scratch.store, options: options)
    case .lmdb: return .lmdb(at: scratch.store, options: options)
    case .log: return .log(at: scratch.store, options: options)
    case .journal: return .journal(at: scratch.store, options: options)
    #if RocksDB
      case .rocksDB: return .rocksdb(at: scratch.store, options: options)
    #endif
    }
  }
}
