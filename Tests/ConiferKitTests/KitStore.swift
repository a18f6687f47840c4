import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferStorage

/// The stores that outlive a process.
enum KitStore: String, CaseIterable, Sendable {
  case sqlite
  case lmdb
  case log

  func storage(at directory: String) -> StorageConfiguration {
    switch self {
    case .sqlite: .sqlite(at: directory)
    case .lmdb: .lmdb(at: directory)
    case .log: .log(at: directory)
    }
  }
}
