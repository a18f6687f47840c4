import ConiferBenchmark
import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferStorage
import Foundation
import JournalStore

#if RocksDB
  import ConiferRocksDB
#endif
#if Encryption
  import ConiferEncryption
#endif

extension Bench {
  /// The backends of the package, the example of one from outside, other options of some, and raw
  /// engines.
  static var candidates: [Candidate] {
    backends + variants + Candidate.peers + others
  }

  private static var backends: [Candidate] {
    var list = [
      Candidate(name: "lmdb") { .lmdb(at: $0, options: $1) },
      Candidate(name: "sqlite") { .sqlite(at: $0, options: $1) },
      Candidate(name: "log") { .log(at: $0, options: $1) },
    ]
    #if RocksDB
      list.append(Candidate(name: "rocksdb") { .rocksdb(at: $0, options: $1) })
    #endif
    return list + [Candidate(name: "journal") { .journal(at: $0, options: $1) }, .memory]
  }

  private static var variants: [Candidate] {
    let disk: [(String, @Sendable (String, StorageOptions) -> StorageConfiguration)] = [
      ("lmdb", { .lmdb(at: $0, options: $1) }), ("sqlite", { .sqlite(at: $0, options: $1) }),
      ("log", { .log(at: $0, options: $1) }),
    ]
    return disk.flatMap { name, configuration in
      let plain = StorageOptions(compression: .none)
      var list = [
        Candidate(
          name: "\(name) plain", options: plain, isVariant: true, configuration: configuration)
      ]
      #if Encryption
        let encrypted = StorageOptions(
          encryption: StoreEncryption(key: Array(repeating: 7, count: 32)))
        list.append(
          Candidate(
            name: "\(name) encrypted", options: encrypted, isVariant: true,
            configuration: configuration))
      #endif
      return list
    }
  }

  private static var others: [Candidate] {
    var list: [Candidate] = []
    #if RocksDB
      list.append(
        Candidate(raw: "raw RocksDB") { directory, durability in
          OrderedRows(try RocksDBStore(at: directory + "/rocks"), durability)
        })
    #endif
    #if GRDB
      list.append(Candidate(raw: "GRDB") { try GRDBRows(at: $0, $1) })
    #endif
    return list
  }
}
