import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferStorage
import StorageConformance
import Testing

/// The backends of the package.
enum Tested {
  static func memory(_ compression: Compression) -> BackendFactory {
    BackendFactory(
      name: "memory",
      declared: StoreTraits(
        longestKey: .max, bestValueSize: 16 << 10, writeQuantum: 64, strongest: .relaxed,
        isPersistent: false),
      options: StorageOptions(compression: compression, durability: .relaxed),
      evicts: true, keepsDocuments: true, verifies: true, tests: "StorageConformanceTests"
    ) { (_, options) throws(StoreError) in try StorageConfiguration.memory(options).open() }
  }

  // The checks ask for power themselves where it matters; a sync a commit would only cost time.
  static func lmdb(_ compression: Compression) -> BackendFactory {
    BackendFactory(
      name: "lmdb",
      declared: StoreTraits(
        longestKey: 510, bestValueSize: 4080, writeQuantum: 16384, strongest: .power,
        isPersistent: true),
      options: StorageOptions(compression: compression, durability: .process),
      evicts: true, keepsDocuments: true, verifies: true, overlooks: [.silentLoss],
      tests: "StorageConformanceTests"
    ) { (directory, options) throws(StoreError) in
      try StorageConfiguration.lmdb(at: directory, options: options).open()
    }
  }

  static func sqlite(_ compression: Compression) -> BackendFactory {
    BackendFactory(
      name: "sqlite",
      declared: StoreTraits(
        longestKey: 4095, bestValueSize: 16 << 10, writeQuantum: 8192, strongest: .power,
        isPersistent: true),
      options: StorageOptions(compression: compression, durability: .process),
      evicts: true, keepsDocuments: true, verifies: true,
      overlooks: [.silentLoss],
      tests: "StorageConformanceTests"
    ) { (directory, options) throws(StoreError) in
      try StorageConfiguration.sqlite(at: directory, options: options).open()
    }
  }

  static func log(
    _ compression: Compression, _ log: LogOptions = LogOptions()
  ) -> BackendFactory {
    BackendFactory(
      name: "log",
      declared: StoreTraits(
        longestKey: 1 << 16, bestValueSize: 16 << 10, writeQuantum: 64, strongest: .power,
        isPersistent: true),
      options: StorageOptions(compression: compression, durability: .process),
      evicts: true, keepsDocuments: true, verifies: true,
      tests: "StorageConformanceTests"
    ) { (directory, options) throws(StoreError) in
      try StorageConfiguration.log(at: directory, options: options, log: log).open()
    }
  }

  /// Segments so small that they roll, and are folded and compacted, all the time.
  static func smallLog(_ compression: Compression) -> BackendFactory {
    var options = LogOptions()
    options.segment = 64 << 10
    options.tail = 4 << 10
    options.journal = 32 << 10
    options.slack = 64 << 10
    return log(compression, options)
  }
}

@Suite("Every backend keeps the contract")
struct BackendConformanceTests {
  @Test("In memory", arguments: BackendCheck.all(for: Tested.memory(.standard)))
  func memory(_ check: BackendCheck) async throws { try await check.run(Tested.memory(.standard)) }

  @Test("In memory, not compressed", arguments: BackendCheck.all(for: Tested.memory(.none)))
  func plainMemory(_ check: BackendCheck) async throws { try await check.run(Tested.memory(.none)) }

  @Test("LMDB", arguments: BackendCheck.all(for: Tested.lmdb(.standard)))
  func lmdb(_ check: BackendCheck) async throws { try await check.run(Tested.lmdb(.standard)) }

  @Test("LMDB, not compressed", arguments: BackendCheck.all(for: Tested.lmdb(.none).variant()))
  func plainLMDB(_ check: BackendCheck) async throws {
    try await check.run(Tested.lmdb(.none).variant())
  }

  @Test("SQLite", arguments: BackendCheck.all(for: Tested.sqlite(.standard)))
  func sqlite(_ check: BackendCheck) async throws { try await check.run(Tested.sqlite(.standard)) }

  @Test("SQLite, not compressed", arguments: BackendCheck.all(for: Tested.sqlite(.none).variant()))
  func plainSQLite(_ check: BackendCheck) async throws {
    try await check.run(Tested.sqlite(.none).variant())
  }

  @Test("Log", arguments: BackendCheck.all(for: Tested.log(.standard)))
  func log(_ check: BackendCheck) async throws { try await check.run(Tested.log(.standard)) }

  @Test(
    "Log of small segments, not compressed",
    arguments: BackendCheck.all(for: Tested.smallLog(.none)))
  func smallLog(_ check: BackendCheck) async throws { try await check.run(Tested.smallLog(.none)) }

  @Test("All backends and options hold the same after the same program")
  func agreement() async throws {
    try await BackendCheck.agreement(of: [
      Tested.memory(.none), Tested.memory(.standard), Tested.lmdb(.none), Tested.lmdb(.standard),
      Tested.sqlite(.none), Tested.sqlite(.standard), Tested.log(.none),
      Tested.smallLog(.standard),
    ])
  }
}
