#if Encryption
  import ConiferEncryption
  import ConiferKeyValue
  import ConiferLeafStore
  import ConiferTree
  import TestSupport
  import Testing

  @testable import ConiferStorage

  /// Encrypted stores that earlier versions wrote are read for ever. One of their trees has a key of its own.
  ///
  /// `CONIFER_GOLDEN=write` makes those that are missing; what is there is never written again.
  @Suite("Golden encrypted stores", .enabled(if: Codec.hasZstd))
  struct GoldenEncryptionTests {
    private static let key = Bytes(0..<32)
    private static let own = Bytes((0..<32).reversed())
    /// The tree that has a key of its own, by name and as the scope of its records.
    private static let ownTree = (name: "docs", scope: StoreScope(prefix: [0, 0, 0, 3]))

    private static func layer(
      _ key: Bytes = key, own: Bytes? = own
    ) -> StoreEncryption {
      StoreEncryption(key: key) { $0 == ownTree.scope ? own : nil }
    }

    private func files(_ kind: GoldenBackend) -> String {
      "\(GoldenBackend.fixtures)/\(kind.rawValue)/encrypted-1"
    }

    private func manifest(_ kind: GoldenBackend) -> String { files(kind) + ".json" }

    @Test(
      "A missing golden store is written when asked for",
      .enabled(if: Files.variable("CONIFER_GOLDEN") == "write"), arguments: GoldenBackend.allCases)
    func write(_ kind: GoldenBackend) async throws {
      let files = files(kind)
      try #require(Files.names(files).isEmpty, "\(files) is there and stays as it is")
      let scratch = try Scratch()
      let backend = try kind.open(scratch.store, small: true, Self.layer())
      try await Self.fill(backend)
      // As a killed process leaves it.
      let made = Files.all(scratch.store).filter {
        !GoldenBackend.isPassing($0.name) && $0.name != "reserve"
      }
      let manifest = try StateText.of(backend)
      try await backend.close()
      let size = made.reduce(0) { $0 + $1.bytes.count }
      try #require(
        size <= 250_000, "\(kind) takes \(size) bytes: \(made.map { ($0.name, $0.bytes.count) })")
      Files.write(made, files)
      Scratch.write(Bytes(manifest.utf8), self.manifest(kind))
    }

    /// Some of each kind of record, in a tree with the store's key and in one with its own.
    private static func fill(_ backend: any StorageBackend) async throws {
      _ = try await backend.tree(named: "chat")
      let gone = try await backend.tree(named: "gone")
      _ = try await backend.tree(named: ownTree.name)
      try await backend.commit([.wipe(gone)])
      let trees = try backend.read { (view) throws(StoreError) in try view.trees() }
      for tree in trees.map(\.id) {
        let lane = Lane(tree: tree, identity: "zoë")
        var edits: [StorageEdit] = (0..<5).map { room in
          let messages = (0..<12).map { message in
            (Key("m\(message)"), Node(.string("message \(message) of room \(room)")))
          }
          let path = Path("rooms/r\(room)")
          return .overwrite(tree, path, Node(children: messages, priority: Priority(Int64(room))))
        }
        let large = Node(.string(String(repeating: "a large leaf ", count: 1000)))
        edits += [
          .overwrite(tree, "large", large), .setMetadata(tree, "cursor", [1, 2, 3]),
          .pin(Pin(tree: tree, path: "rooms/r1")),
        ]
        edits += (1...4).map { number in
          .enqueue(lane, .set(Path("rooms/r\(number)/new"), Node(.string("write \(number)"))))
        }
        edits += [
          .finish(lane, WriteID(rawValue: 1), .acknowledged),
          .setState(lane, WriteID(rawValue: 2), .sent),
          .setState(lane, WriteID(rawValue: 2), .rejected(reason: "permission_denied")),
          .saveQuery(
            TrackedQuery(
              tree: tree, path: "rooms", parameters: #"{"l":2}"#, isComplete: true, lastUse: 6,
              resumeToken: [9, 8, 7])),
        ]
        let queries = try await backend.commit(edits).queries
        _ = try await backend.commit([.setTrackedKeys(tree, queries[0], ["r0", "r1"])], .power)
      }
      _ = try await backend.commit(
        trees.map { .overwrite($0.id, "rooms/r1/m7", "changed by a delta") }, .power)
    }

    private func copy(_ kind: GoldenBackend) throws -> Scratch {
      let files = Files.all(files(kind))
      try #require(!files.isEmpty, "there is no golden store in \(self.files(kind))")
      let scratch = try Scratch()
      Files.write(files, scratch.store)
      return scratch
    }

    @Test("It holds what it always held, and is written to", arguments: GoldenBackend.allCases)
    func opens(_ kind: GoldenBackend) async throws {
      let scratch = try copy(kind)
      let manifest = String(decoding: Scratch.read(self.manifest(kind)), as: UTF8.self)
      var backend = try kind.open(scratch.store, Self.layer())
      #expect(backend.traits.isEncrypted)
      StateText.expectSame(try StateText.of(backend), manifest)
      let trees = try backend.read { (view) throws(StoreError) in try view.trees() }
      let numbers = ["chat", Self.ownTree.name].compactMap { name in
        trees.first { $0.name == name }?.id
      }
      try await backend.commit(
        numbers.map { .overwrite($0, "rooms/new", "written by a later version") })
      while try await backend.tidy(.seconds(1)) {}
      try await backend.close()
      backend = try kind.open(scratch.store, Self.layer())
      for tree in numbers {
        #expect(try backend.node(tree, "rooms/new") == "written by a later version")
      }
      try await backend.close()
    }

    @Test("Without its keys it is refused, and left as it is", arguments: GoldenBackend.allCases)
    func refused(_ kind: GoldenBackend) async throws {
      let scratch = try copy(kind)
      let other = Bytes(repeating: 9, count: 32)
      for layer in [Self.layer(other), nil] {
        do {
          try await kind.open(scratch.store, layer).close()
          Issue.record("it opens with another key, or none")
        } catch let error as StoreError {
          #expect(error.code == .wrongKey)
        }
      }
      // The tree with a key of its own cannot be read without that, and the others can.
      let backend = try kind.open(scratch.store, Self.layer(own: nil))
      let trees = try backend.read { (view) throws(StoreError) in try view.trees() }
      for tree in trees where ["chat", Self.ownTree.name].contains(tree.name) {
        do {
          let isEmpty = try backend.node(tree.id, "rooms/r1").isEmpty
          #expect(!isEmpty && tree.name != Self.ownTree.name)
        } catch {
          #expect(error.code == .wrongKey && tree.name == Self.ownTree.name, "\(error)")
        }
      }
      try await backend.close()
    }
  }
#endif
