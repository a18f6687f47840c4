#if Encryption
  import ConiferEncryption
  import ConiferKeyValue
  import ConiferLMDB
  import ConiferLog
  import ConiferSQLite
  import ConiferStorage
  import ConiferTree
  import TestSupport
  import Testing

  @Suite("What stands in the files")
  struct FileTests {
    private static let secret = "xyzzySECRETplugh"

    enum Engine: String, CaseIterable, Sendable {
      case lmdb, sqlite, log

      func open(
        _ path: String, _ options: StorageOptions
      ) throws(StoreError) -> any StorageBackend {
        switch self {
        case .lmdb: try StorageConfiguration.lmdb(at: path, options: options).open()
        case .sqlite: try StorageConfiguration.sqlite(at: path, options: options).open()
        case .log: try StorageConfiguration.log(at: path, options: options).open()
        }
      }
    }

    /// Puts the secret into every kind of value, and other words into every kind of key.
    private static func fill(_ backend: any StorageBackend) async throws {
      let tree = try await backend.tree(named: "visible-tree-name")
      var random = Seeded(5)
      let words = (0..<120).map { _ in String(random.next(), radix: 36) } + [secret]
      for room in 0..<20 {
        let messages = Node(
          children: (0..<300).map { number in
            let text = (0..<14).map { _ in words.randomElement(using: &random) ?? "" }
            let message: Node = [
              "author": Node(.string("user \(number % 9)")),
              "text": Node(.string("\(secret) \(text.joined(separator: " "))")),
              "ts": Node(.integer(Int64(random.next() >> 24))),
            ]
            return (Key("m\(number)"), message)
          })
        try await backend.commit([.overwrite(tree, Path("visible-room-\(room)"), messages)])
      }
      let large = String(repeating: secret, count: 30_000)
      let lane = Lane(tree: tree, identity: "visible-identity")
      let receipt = try await backend.commit([
        .overwrite(tree, "large", Node(.string(large))),
        .overwrite(tree, "visible-room-1/m1", Node(.string(secret), priority: Priority(secret))),
        .setMetadata(tree, "visible-metadata-name", Bytes(secret.utf8)),
        .saveQuery(
          TrackedQuery(
            tree: tree, path: "visible-query-path", parameters: secret, isComplete: true,
            resumeToken: Bytes(secret.utf8))),
        .pin(Pin(tree: tree, path: "visible-pin-path", parameters: secret)),
        .enqueue(lane, .set("visible-queued-path", Node(.string(secret)))),
        .enqueue(lane, .set("visible-queued-path", Node(.string(large)))),
        .enqueue(lane, .set("visible-queued-path", Node(.string(secret)))),
      ])
      try await backend.commit([
        .setTrackedKeys(tree, receipt.queries[0], ["visible-tracked-key"]),
        .setState(lane, receipt.writes[0], .rejected(reason: secret)),
        .finish(lane, receipt.writes[2], .acknowledged),
      ])
      while try await backend.tidy(.milliseconds(100)) {}
    }

    private static func files(_ scratch: Scratch, hold words: String) -> [String] {
      Scratch.files(scratch.store).filter { Scratch.read($0).contains(Bytes(words.utf8)) }
    }

    @Test(
      "No value of any kind is readable, while open and once closed", arguments: Engine.allCases)
    func values(_ engine: Engine) async throws {
      let scratch = try Scratch()
      let options = StorageOptions(budget: nil, encryption: StoreEncryption(key: keyA))
      let backend = try engine.open(scratch.store, options)
      try await Self.fill(backend)
      let usage = try backend.read { (view) throws(StoreError) in try view.usage(nil) }
      #expect(usage.dictionaryCount > 0 || options.compression == .none)
      #expect(Self.files(scratch, hold: Self.secret) == [])
      try await backend.close()
      #expect(Self.files(scratch, hold: Self.secret) == [])
      // Keys are: Docs/Encryption.md lists them.
      for words in ["identity", "metadata-name", "query-path", "pin-path", "queued-path"] {
        #expect(!Self.files(scratch, hold: "visible-" + words).isEmpty, "\(words)")
      }
      for words in ["visible-tree-name", "visible-room-1", "visible-tracked-key"] {
        #expect(!Self.files(scratch, hold: words).isEmpty, "\(words)")
      }
    }

    @Test("Without encryption the same search finds it", arguments: Engine.allCases)
    func plain(_ engine: Engine) async throws {
      let scratch = try Scratch()
      let backend = try engine.open(scratch.store, StorageOptions(budget: nil, compression: .none))
      try await Self.fill(backend)
      try await backend.close()
      #expect(!Self.files(scratch, hold: Self.secret).isEmpty)
    }

    @Test(
      "A wrong key, no key and a key too many leave every file as it was",
      arguments: Engine.allCases)
    func refused(_ engine: Engine) async throws {
      for isSealed in [true, false] {
        let scratch = try Scratch()
        var options = StorageOptions()
        if isSealed { options.encryption = StoreEncryption(key: keyA) }
        let backend = try engine.open(scratch.store, options)
        try await Self.fill(backend)
        try await backend.close()
        func state() -> [String: Bytes] {
          // The owner's lock names a process.
          let files = Scratch.files(scratch.store).filter { !$0.hasSuffix("/owner") }
          return Dictionary(uniqueKeysWithValues: files.map { ($0, Scratch.read($0)) })
        }
        let before = state()
        options.encryption = StoreEncryption(key: keyB)
        #expect(
          code { () throws(StoreError) in _ = try engine.open(scratch.store, options) } == .wrongKey
        )
        if isSealed {
          options.encryption = nil
          #expect(
            code { () throws(StoreError) in _ = try engine.open(scratch.store, options) }
              == .wrongKey)
        }
        let changed = state().filter { before[$0.key] != $0.value && !$0.key.hasSuffix("lock.mdb") }
        #expect(changed.keys.sorted() == [], "of \(engine)")
      }
    }
  }
#endif
