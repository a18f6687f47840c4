import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferStorage
import TestSupport

/// A backend of which golden stores are kept, one a format, in `Tests/Fixtures`.
enum GoldenBackend: String, CaseIterable, Sendable {
  case lmdb, sqlite, log

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

  /// What belongs to a run and not to the store: who owned it, who was reading.
  static let passing: Set<String> = ["owner", "lock.mdb", "conifer.sqlite-shm"]

  /// Sizes so small that a small store has tables, sealed segments and a journal.
  private static var smallLog: LogOptions {
    var options = LogOptions()
    options.segment = 32 << 10
    options.tail = 4 << 10
    options.journal = 24 << 10
    options.reserve = 4 << 10
    return options
  }

  /// Opens the backend without a budget, so that all stays that was written.
  func open(_ path: String, small: Bool = false) throws -> any StorageBackend {
    let options = StorageOptions(budget: nil, durability: .process)
    switch self {
    case .lmdb: return try StorageConfiguration.lmdb(at: path, options: options).open()
    case .sqlite: return try StorageConfiguration.sqlite(at: path, options: options).open()
    case .log:
      return try StorageConfiguration.log(
        at: path, options: options, log: small ? Self.smallLog : LogOptions()
      ).open()
    }
  }

  /// Opens the ordered store alone.
  func store(_ path: String, small: Bool = false) throws -> any OrderedStore {
    switch self {
    case .lmdb: try LMDBStore(at: path)
    case .sqlite: try SQLiteStore(at: path)
    case .log: try LogStore(at: path, small ? Self.smallLog : LogOptions())
    }
  }
}
