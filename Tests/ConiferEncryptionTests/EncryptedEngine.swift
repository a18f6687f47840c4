#if Encryption
  import ConiferEncryption
  import ConiferKeyValue
  import ConiferLMDB
  import ConiferLog
  import ConiferRocksDB
  import ConiferSQLite
  import ConiferStorage
  import JournalStore
  import StorageConformance

  /// What encryption is laid over.
  enum EncryptedEngine: String, CaseIterable, Codable, Sendable, CustomStringConvertible {
    case memory, lmdb, sqlite, log
    #if RocksDB
      case rocksdb
    #endif
    /// The outside example.
    case journal

    /// Those whose store is tested by the whole kit. The others get what crashes, failing disks and damage show.
    static let whole: [EncryptedEngine] = [.memory, .lmdb, .sqlite, .log]
    static let persistent = allCases.filter { $0 != .memory }

    var description: String {
      switch self {
      case .memory: "memory"
      case .lmdb: "LMDB"
      case .sqlite: "SQLite"
      case .log: "Log"
      #if RocksDB
        case .rocksdb: "RocksDB"
      #endif
      case .journal: "Journal"
      }
    }

    private var traits: StoreTraits {
      let (key, value, quantum) =
        switch self {
        case .memory: (Int.max, 16 << 10, 64)
        case .lmdb: (510, 4080, 16384)
        case .sqlite: (4095, 16 << 10, 8192)
        case .log: (1 << 16, 16 << 10, 64)
        #if RocksDB
          case .rocksdb: (1 << 16, 16 << 10, 256)
        #endif
        case .journal: (4096, 16 << 10, 64)
        }
      return StoreTraits(
        longestKey: key, bestValueSize: value - 24, writeQuantum: quantum,
        strongest: self == .memory ? .relaxed : .power, isPersistent: self != .memory)
    }

    private func store(_ path: String) throws(StoreError) -> any OrderedStore {
      switch self {
      case .memory: MemoryStore()
      case .lmdb: try LMDBStore(at: path)
      case .sqlite: try SQLiteStore(at: path)
      case .log: try LogStore(at: path)
      #if RocksDB
        case .rocksdb: try RocksDBStore(at: path)
      #endif
      case .journal: try JournalStore(at: path)
      }
    }

    private func configuration(_ path: String, _ options: StorageOptions) -> StorageConfiguration {
      switch self {
      case .memory: .memory(options)
      case .lmdb: .lmdb(at: path, options: options)
      case .sqlite: .sqlite(at: path, options: options)
      case .log: .log(at: path, options: options)
      #if RocksDB
        case .rocksdb: .rocksdb(at: path, options: options)
      #endif
      case .journal: .journal(at: path, options: options)
      }
    }

    private var worksInBackground: Bool {
      #if RocksDB
        self == .rocksdb
      #else
        false
      #endif
    }

    var stores: StoreFactory {
      StoreFactory(
        name: "encrypted \(self)", declared: traits, ownerFile: self == .memory ? nil : "owner",
        worksInBackground: worksInBackground
      ) { (path) throws(StoreError) in
        let store = try store(path)
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
        name: "encrypted \(self)", declared: traits,
        options: StorageOptions(
          durability: .exactly(min(.process, traits.strongest)),
          encryption: StoreEncryption(key: keyA)),
        evicts: true, keepsDocuments: true, verifies: true,
        overlooks: [.lmdb, .sqlite].contains(self) ? [.silentLoss] : [],
        worksInBackground: worksInBackground, tests: "ConiferEncryptionTests"
      ) { (path, options) throws(StoreError) in
        try configuration(path, options).open()
      }.variant()
    }
  }
#endif
