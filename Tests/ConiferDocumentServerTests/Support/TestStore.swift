import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferStorage
import TestSupport
import Testing

/// The backends that the server is tested on.
enum TestStore: String, CaseIterable, CustomTestStringConvertible, Sendable {
  case memory, sqlite, lmdb, log

  /// Those that hold after they are closed.
  static let onDisk: [TestStore] = [.sqlite, .lmdb, .log]

  var testDescription: String { rawValue }

  func configuration(_ scratch: Scratch) -> StorageConfiguration {
    // What is tested here survives the end of the process; power loss is the backends' own tests'.
    let options = StorageOptions(durability: self == .memory ? .strongest : .process)
    switch self {
    case .memory: return .memory(options)
    case .sqlite: return .sqlite(at: scratch.store, options: options)
    case .lmdb: return .lmdb(at: scratch.store, options: options)
    case .log: return .log(at: scratch.store, options: options)
    }
  }
}
