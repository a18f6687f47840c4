#if Encryption
  import ConiferEncryption
  import ConiferKeyValue
  import ConiferLMDB
  import ConiferSQLite
  import ConiferStorage
  import ConiferTree
  import TestSupport
  import Testing

  @Suite("A move into an encrypted storage, and out of one")
  struct StoreMoveTests {
    private static let own = Bytes(repeating: 9, count: 32)
    private static let words = "words that nobody else may read"

    private static func options(_ encryption: StoreEncryption?) -> StorageOptions {
      StorageOptions(budget: nil, compression: .none, encryption: encryption)
    }

    private static func scoped(gives: Bool) -> StoreEncryption {
      StoreEncryption(key: keyA) { scope in
        let lane = StoreScope.lane(Lane(tree: TreeID(rawValue: 1), identity: "ann"))
        return gives && scope == lane ? own : nil
      }
    }

    private static func fill(_ storage: StorageConfiguration) async throws {
      let backend = try storage.open()
      let tree = try await backend.tree(named: "main")
      let lane = Lane(tree: tree, identity: "ann")
      try await backend.commit([
        .overwrite(tree, "rooms/r1", Node(.string(words))),
        .enqueue(lane, .set("rooms/r2", Node(.string(words)))),
      ])
      try await backend.close()
    }

    private static func digest(_ storage: StorageConfiguration) async throws -> StoreDigest {
      let backend = try storage.open()
      let digest = try await StoreDigest.of(backend)
      try await backend.close()
      return digest
    }

    private static func hasWords(_ directory: String) throws -> Bool {
      try Directory.names(in: directory).contains { name in
        let path = "\(directory)/\(name)"
        if let inner = try? hasWords(path) { return inner }
        return String(decoding: Scratch.read(path), as: UTF8.self).contains(words)
      }
    }

    @Test("No plain text is left, and all comes back out")
    func encrypted() async throws {
      let scratch = try Scratch()
      defer { Directory.remove(scratch.path) }
      let plain = StorageConfiguration.sqlite(
        at: scratch.path + "/plain", options: Self.options(nil))
      let sealed = StorageConfiguration.lmdb(
        at: scratch.path + "/sealed", options: Self.options(StoreEncryption(key: keyA)))
      try await Self.fill(plain)
      let digest = try await Self.digest(plain)
      #expect(try Self.hasWords(scratch.path))
      #expect(try await StorageMigration(from: plain, to: sealed).run() == .moved)
      #expect(try !Self.hasWords(scratch.path))
      #expect(try await Self.digest(sealed) == digest)
      #expect(try await StorageMigration(from: sealed, to: plain).run() == .moved)
      #expect(try await Self.digest(plain) == digest)
      #expect(try Directory.names(in: scratch.path) == ["plain"])
    }

    @Test("A storage with a queue whose key is not given is refused, and stays")
    func notGiven() async throws {
      let scratch = try Scratch()
      defer { Directory.remove(scratch.path) }
      func source(gives: Bool) -> StorageConfiguration {
        .lmdb(at: scratch.path + "/sealed", options: Self.options(Self.scoped(gives: gives)))
      }
      let plain = StorageConfiguration.sqlite(
        at: scratch.path + "/plain", options: Self.options(nil))
      try await Self.fill(source(gives: true))
      let digest = try await Self.digest(source(gives: true))
      for _ in 0..<2 {
        let error = await #expect(throws: StoreError.self) {
          try await StorageMigration(from: source(gives: false), to: plain).run()
        }
        #expect(error?.code == .wrongKey)
        #expect(try Directory.names(in: scratch.path) == ["sealed"])
      }
      #expect(try await Self.digest(source(gives: true)) == digest)
      #expect(try await StorageMigration(from: source(gives: true), to: plain).run() == .moved)
      #expect(try await Self.digest(plain) == digest)
    }
  }
#endif
