#if RocksDB
  import ConiferKeyValue
  import ConiferRocksDB
  import ConiferStorage
  import StorageConformance
  import Testing

  @Suite("RocksDB keeps both contracts")
  struct ContractTests {
    static let declared = StoreTraits(
      longestKey: 1 << 16, bestValueSize: 16 << 10, writeQuantum: 256, strongest: .power,
      isPersistent: true)

    static let usual = StoreFactory(
      name: "RocksDB", declared: declared, ownerFile: "owner", worksInBackground: true,
      tests: "ConiferRocksDBTests.ContractTests"
    ) { (path) throws(StoreError) in try RocksDBStore(at: path) }

    /// Memory so small that it goes to files, and those are compacted, all the time.
    static let tiny = StoreFactory(
      name: "RocksDB with little memory", declared: declared, ownerFile: "owner",
      worksInBackground: true,
      tests: "ConiferRocksDBTests.ContractTests"
    ) { (path) throws(StoreError) in
      var options = RocksDBOptions()
      options.memtable = 64 << 10
      options.blockCache = 64 << 10
      options.openFiles = 16
      return try RocksDBStore(at: path, options)
    }

    @Test("The kit passes", arguments: StoreCheck.all(for: usual))
    func contract(_ check: StoreCheck) async throws { try await check.run(Self.usual) }

    /// Failing disks are tried with little memory in the long run alone, which makes every operation fail.
    static let ofTiny = StoreCheck.all(for: tiny).filter {
      $0.group != "faults" || Files.variable("CONIFER_FAULTS") == "all"
    }

    @Test("The kit passes with little memory", arguments: ofTiny)
    func flushing(_ check: StoreCheck) async throws { try await check.run(Self.tiny) }

    static func factory(_ compression: Compression) -> BackendFactory {
      BackendFactory(
        name: "rocksdb", declared: declared,
        options: StorageOptions(compression: compression, durability: .process), evicts: true,
        keepsDocuments: true, verifies: true,
        worksInBackground: true, tests: "ConiferRocksDBTests"
      ) { (directory, options) throws(StoreError) in
        try StorageConfiguration.rocksdb(at: directory, options: options).open()
      }
    }

    @Test("The backend's kit passes", arguments: BackendCheck.all(for: factory(.standard)))
    func backend(_ check: BackendCheck) async throws {
      try await check.run(Self.factory(.standard))
    }

    @Test(
      "The backend's kit passes, not compressed",
      arguments: BackendCheck.all(for: factory(.none).variant()))
    func plain(_ check: BackendCheck) async throws {
      try await check.run(Self.factory(.none).variant())
    }

    @Test("RocksDB holds the same as memory after the same program")
    func agreement() async throws {
      let memory = BackendFactory(
        name: "memory",
        declared: StoreTraits(
          longestKey: .max, bestValueSize: 16 << 10, writeQuantum: 64, strongest: .relaxed,
          isPersistent: false),
        options: StorageOptions(compression: .none, durability: .relaxed),
        evicts: true, keepsDocuments: true, verifies: true
      ) { (_, options) throws(StoreError) in try StorageConfiguration.memory(options).open() }
      try await BackendCheck.agreement(of: [memory, Self.factory(.none), Self.factory(.standard)])
    }
  }
#endif
