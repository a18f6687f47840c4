#if Encryption
  import ConiferKeyValue
  import ConiferLMDB
  import ConiferLog
  import ConiferSQLite
  import ConiferStorage
  import ConiferTree
  import TestSupport
  import Testing

  @testable import ConiferEncryption

  @Suite("An encrypted store is read beside its owner with its key alone")
  struct SharedReaderTests {
    private static func storage(_ kind: String, _ path: String, _ key: Bytes?)
      -> StorageConfiguration
    {
      let options = StorageOptions(encryption: key.map { StoreEncryption(key: $0) })
      return switch kind {
      case "sqlite": .sqlite(at: path, options: options)
      case "lmdb": .lmdb(at: path, options: options)
      default: .log(at: path, options: options)
      }
    }

    @Test(arguments: ["sqlite", "lmdb", "log"])
    func reads(kind: String) async throws {
      let scratch = try Scratch()
      // Each opening of the owner has keys of its own.
      for number in 1...3 {
        let backend = try Self.storage(kind, scratch.store, keyA).open()
        let tree = try await backend.tree(named: "main")
        let node = Node(.integer(Int64(number)))
        _ = try await backend.commit([.overwrite(tree, Path("n\(number)"), node)], .power)
        try await backend.close()
        let reader = try Self.storage(kind, scratch.store, keyA).openReader()
        let seen = try reader.read { (view) throws(StoreError) in try view.node(tree, .root) }
        #expect(seen.childCount == number && seen[Key("n\(number)")] == node)
        reader.close()
      }
      for key in [keyB, nil] {
        let found = code { () throws(StoreError) in
          _ = try Self.storage(kind, scratch.store, key).openReader()
        }
        #expect(found == .wrongKey)
      }
    }
  }
#endif
