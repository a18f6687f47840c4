#if Encryption
  import ConiferKeyValue
  import ConiferLog
  import ConiferStorage
  import ConiferTree
  import TestSupport
  import Testing

  @testable import ConiferEncryption

  @Suite("An encrypted store that lacks durable commits")
  struct MarkTests {
    private typealias Backend = PackedBackend<EncryptedStore>

    private static let own = Bytes(repeating: 9, count: 32)

    private static func open(
      _ path: String, scopeKey: @escaping @Sendable (StoreScope) -> Bytes? = { _ in nil }
    ) throws -> Backend {
      let options = StorageOptions(
        role: .authority, encryption: StoreEncryption(key: keyA, scopeKey: scopeKey))
      return try #require(StorageConfiguration.log(at: path, options: options).open() as? Backend)
    }

    private static func copy(_ path: String, _ name: String) throws -> String {
      let copy = Platform.parent(of: path) + "/" + name
      try Directory.copyFiles(path, to: copy, leaving: ["owner"])
      return copy
    }

    /// Puts the mark of a store beside older files of it.
    private static func mark(_ copy: String, of path: String) throws {
      let mark = try #require(try Directory.contents("\(path)/synced", limit: 100))
      try Directory.put(mark, at: "\(copy)/synced")
    }

    private static func isTold(_ backend: Backend) throws -> Bool {
      try backend.read { (view) throws(StoreError) in try view.incidents() }
        .contains { $0.place.contains("durable commits are lost") }
    }

    @Test("No write of a lane whose own key comes later gets the number of a lost one")
    func laterKey() async throws {
      let scratch = try Scratch()
      defer { Directory.remove(scratch.store) }
      var backend = try Self.open(scratch.store)
      let tree = try await backend.tree(named: "main")
      let lane = Lane(tree: tree, identity: "ann")
      for scope in [StoreScope.lane(lane), .tree(tree)] {
        let path = scratch.path + "/\(scope == .tree(tree))"
        defer { Directory.remove(path) }
        let key: @Sendable (StoreScope) -> Bytes? = { $0 == scope ? Self.own : nil }
        let first = try Self.open(path, scopeKey: key)
        _ = try await first.tree(named: "main")
        var last = WriteID(rawValue: 0)
        var old = path
        for number in 1...9 {
          if number == 5 { old = try Self.copy(path, "old\(scope == .tree(tree))") }
          last = try await first.commit([.enqueue(lane, .set("a", 1))], .power).writes[0]
        }
        defer { Directory.remove(old) }
        try Self.mark(old, of: path)
        try await first.close()
        let without = try Self.open(old)
        #expect(try Self.isTold(without))
        try await without.close()
        let with = try Self.open(old, scopeKey: key)
        let next = try await with.commit([.enqueue(lane, .set("b", 1))], .power).writes[0]
        #expect(next > last, "\(scope)")
        try await with.close()
      }
      try await backend.close()
      backend = try Self.open(scratch.store)
      #expect(try !Self.isTold(backend))
      try await backend.close()
    }

    @Test("It is told when what erased a lane is gone")
    func erased() async throws {
      let scratch = try Scratch()
      defer { Directory.remove(scratch.store) }
      let backend = try Self.open(scratch.store)
      let lane = Lane(tree: try await backend.tree(named: "main"), identity: "ann")
      _ = try await backend.commit([.enqueue(lane, .set("a", 1))], .power)
      let old = try Self.copy(scratch.store, "old")
      defer { Directory.remove(old) }
      try await backend.withStore { (store) throws(StoreError) in try store.erase(.lane(lane)) }
      // As if the process was killed here.
      try Self.mark(old, of: scratch.store)
      try await backend.close()
      let again = try Self.open(old)
      #expect(try Self.isTold(again))
      try await again.close()
    }
  }
#endif
