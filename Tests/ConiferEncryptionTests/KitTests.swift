#if Encryption
  import ConiferEncryption
  import ConiferKeyValue
  import ConiferLMDB
  import ConiferLog
  import ConiferSQLite
  import ConiferStorage
  import StorageConformance
  import Testing

  /// What encryption is laid over.
  private struct Engine: Sendable {
    let name: String
    let traits: StoreTraits
    let store: @Sendable (String) throws(StoreError) -> any OrderedStore
    let backend: @Sendable (String, StorageOptions) throws(StoreError) -> any StorageBackend

    static let memory = Engine(
      name: "memory",
      traits: StoreTraits(
        longestKey: .max, bestValueSize: (16 << 10) - 24, writeQuantum: 64, strongest: .relaxed,
        isPersistent: false)
    ) { (_) throws(StoreError) in
      MemoryStore()
    } backend: { (_, options) throws(StoreError) in
      try StorageConfiguration.memory(options).open()
    }

    static let lmdb = Engine(
      name: "LMDB",
      traits: StoreTraits(
        longestKey: 510, bestValueSize: 4056, writeQuantum: 16384, strongest: .power,
        isPersistent: true)
    ) { (path) throws(StoreError) in
      try LMDBStore(at: path)
    } backend: { (path, options) throws(StoreError) in
      try StorageConfiguration.lmdb(at: path, options: options).open()
    }

    static let sqlite = Engine(
      name: "SQLite",
      traits: StoreTraits(
        longestKey: 4095, bestValueSize: (16 << 10) - 24, writeQuantum: 8192, strongest: .power,
        isPersistent: true)
    ) { (path) throws(StoreError) in
      try SQLiteStore(at: path)
    } backend: { (path, options) throws(StoreError) in
      try StorageConfiguration.sqlite(at: path, options: options).open()
    }

    static let log = Engine(
      name: "Log",
      traits: StoreTraits(
        longestKey: 1 << 16, bestValueSize: (16 << 10) - 24, writeQuantum: 64, strongest: .power,
        isPersistent: true)
    ) { (path) throws(StoreError) in
      try LogStore(at: path)
    } backend: { (path, options) throws(StoreError) in
      try StorageConfiguration.log(at: path, options: options).open()
    }

    static let all = [memory, lmdb, sqlite, log]

    var stores: StoreFactory {
      let base = store
      return StoreFactory(
        name: "encrypted \(name)", declared: traits, ownerFile: traits.isPersistent ? "owner" : nil
      ) { (path) throws(StoreError) in
        let store = try base(path)
        do throws(StoreError) {
          return try encrypted(store)
        } catch {
          try? store.close()
          throw error
        }
      }
    }

    var backends: BackendFactory {
      BackendFactory(
        name: "encrypted \(name)", declared: traits,
        options: StorageOptions(
          durability: .exactly(min(.process, traits.strongest)),
          encryption: StoreEncryption(key: keyA)),
        evicts: true, keepsDocuments: true, verifies: true, open: backend
      ).variant()
    }
  }

  private struct StoreCase: Sendable, CustomStringConvertible {
    let factory: StoreFactory
    let check: StoreCheck
    var description: String { "\(factory.name): \(check)" }

    static let all = Engine.all.flatMap { engine in
      StoreCheck.all(for: engine.stores).map { StoreCase(factory: engine.stores, check: $0) }
    }
  }

  private struct BackendCase: Sendable, CustomStringConvertible {
    let factory: BackendFactory
    let check: BackendCheck
    var description: String { "\(factory.name): \(check)" }

    static let all = Engine.all.flatMap { engine in
      let factory = engine.backends
      return BackendCheck.all(for: factory).map { BackendCase(factory: factory, check: $0) }
    }
  }

  @Suite("With encryption every backend keeps the contract")
  struct KitTests {
    @Test("The kit of stores passes", arguments: StoreCase.all)
    private func store(_ test: StoreCase) async throws { try await test.check.run(test.factory) }

    @Test("The kit of backends passes", arguments: BackendCase.all)
    private func backend(_ test: BackendCase) async throws {
      try await test.check.run(test.factory)
    }

    @Test("All encrypted backends hold the same after the same program")
    func agreement() async throws {
      try await BackendCheck.agreement(of: Engine.all.map(\.backends))
    }
  }
#endif
