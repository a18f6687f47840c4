import ConiferKeyValue
import ConiferSQLite
import StorageConformance
import Testing

@Suite("SQLite keeps the contract of an ordered store")
struct ContractTests {
  static let declared = StoreTraits(
    longestKey: 4095, bestValueSize: 16 << 10, writeQuantum: 8192, strongest: .power,
    isPersistent: true)

  static let usual = StoreFactory(
    name: "SQLite", declared: declared, ownerFile: "owner",
    tests: "ConiferSQLiteTests.ContractTests"
  ) { (path) throws(StoreError) in try SQLiteStore(at: path) }

  /// Caches and a log so small that transactions spill and the log is folded all the time.
  static let tiny = StoreFactory(
    name: "SQLite with small caches", declared: declared, ownerFile: "owner",
    tests: "ConiferSQLiteTests.ContractTests"
  ) { (path) throws(StoreError) in
    var options = SQLiteOptions()
    options.writerCache = 0
    options.readerCache = 0
    options.checkpointPages = 4
    options.logKept = 0
    options.readersKept = 0
    options.wipesDeleted = true
    return try SQLiteStore(at: path, options)
  }

  @Test("The kit passes", arguments: StoreCheck.all(for: usual))
  func contract(_ check: StoreCheck) async throws { try await check.run(Self.usual) }

  @Test("The kit passes with small caches", arguments: StoreCheck.all(for: tiny))
  func small(_ check: StoreCheck) async throws { try await check.run(Self.tiny) }
}
