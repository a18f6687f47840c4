#if Encryption
  import ConiferKeyValue
  import ConiferStorage
  import ConiferTree
  import TestSupport
  import Testing

  @testable import ConiferEncryption

  @Suite("A check tells what it cannot read apart from what is damaged")
  struct LockedTests {
    private typealias Backend = PackedBackend<EncryptedStore>

    private static let own = Bytes(repeating: 9, count: 32)

    private static func open(
      _ base: RecordingStore, scopeKey: @escaping @Sendable (StoreScope) -> Bytes? = { _ in nil }
    ) throws -> Backend {
      let options = StorageOptions(
        role: .authority, encryption: StoreEncryption(key: keyA, scopeKey: scopeKey))
      return try #require(
        PackedBackend.open(base, name: "recording", options: options) as? Backend)
    }

    /// Two trees with two lanes each, each written in a session of its own.
    private static func filled(
      scopeKey: @escaping @Sendable (StoreScope) -> Bytes? = { _ in nil }
    ) async throws -> (base: RecordingStore, trees: [TreeID]) {
      let base = RecordingStore()
      var trees: [TreeID] = []
      for name in ["one", "two"] {
        let backend = try open(base, scopeKey: scopeKey)
        let tree = try await backend.tree(named: name)
        trees.append(tree)
        let room = Node(
          children: (0..<400).map { (Key("m\($0)"), Node(.string("message \($0) of \(name)"))) })
        try await backend.commit([
          .overwrite(tree, "room", room), .pin(Pin(tree: tree, path: "room/m1")),
          .overwrite(tree, "large", Node(.string(String(repeating: "large ", count: 60_000)))),
          .saveQuery(TrackedQuery(tree: tree, path: "room", isComplete: true)),
        ])
        for identity in ["ann", "bob"] {
          let lane = Lane(tree: tree, identity: identity)
          for number in 0..<5 {
            try await backend.commit([.enqueue(lane, .set(Path("room/m\(number)"), "write"))])
          }
          try await backend.commit([
            .finish(lane, WriteID(rawValue: 1), .acknowledged),
            .setState(lane, WriteID(rawValue: 2), .rejected(reason: "no")),
          ])
        }
        try await backend.close()
      }
      return (base, trees)
    }

    @Test("An erased lane and an erased tree are told, are no findings, and hide no other damage")
    func erased() async throws {
      let (base, trees) = try await Self.filled()
      let backend = try Self.open(base)
      let whole = try backend.verify { _ in }
      #expect(whole.isSound && whole.locked.isEmpty, "\(whole.findings)")
      let ann = Lane(tree: trees[0], identity: "ann")
      try await backend.withStore { (store) throws(StoreError) in try store.erase(.lane(ann)) }
      // A new write stands among those that cannot be read.
      try await backend.commit([.enqueue(ann, .set("room/m9", "new"))])
      var report = try backend.verify { _ in }
      #expect(report.isSound, "\(report.findings)")
      #expect(report.locked.map(\.identity) == ["ann"] && report.locked.map(\.why) == [.erased])
      #expect(report.locked.map(\.name) == ["one"])
      // Three waiting, one rejected, one finished, three rows of the index.
      #expect(report.locked.map(\.records) == [8])
      #expect(report.counts.writes == whole.counts.writes - 4 + 1)
      let second = StoreScope.tree(trees[1])
      try await backend.withStore { (store) throws(StoreError) in try store.erase(second) }
      report = try backend.verify { _ in }
      #expect(report.isSound, "\(report.findings)")
      #expect(Set(report.locked.map(\.place)).count == 4 && report.counts.leaves == 401)
      // What can be read is checked as ever.
      let runs = Space(id: 2, shape: .blobs)
      let run = try #require(
        try base.rowsOf(runs).first { $0.key.starts(with: StoreScope.tree(trees[0]).prefix) })
      try base.forge(runs, run.key, run.value.dropLast() + [run.value.last.map { $0 ^ 1 } ?? 0])
      report = try backend.verify { _ in }
      #expect(!report.isSound && report.locked.count == 4)
      #expect(report.findings.allSatisfy { $0.tree == trees[0] }, "\(report.findings)")
    }

    @Test("A tree whose own key is not given is told, and checked with it")
    func notGiven() async throws {
      let trees = try await Self.filled().trees
      let scope = StoreScope.tree(trees[1])
      let key: @Sendable (StoreScope) -> Bytes? = { $0 == scope ? Self.own : nil }
      let base = try await Self.filled(scopeKey: key).base
      let without = try Self.open(base).verify { _ in }
      #expect(without.isSound, "\(without.findings)")
      #expect(without.locked.map(\.why) == [.notGiven] && without.locked.map(\.tree) == [trees[1]])
      let with = try Self.open(base, scopeKey: key).verify { _ in }
      #expect(with.isSound && with.locked.isEmpty && with.counts.leaves == 802)
    }

    @Test("A lost session or wrapped key is damage, told once a scope, and the rest is checked")
    func lost() async throws {
      for kind in ["session", "key"] {
        let (base, trees) = try await Self.filled()
        let scope = StoreScope.tree(trees[1])
        // The second tree was written in the second session.
        let victim =
          kind == "session" ? LayerRecord.sessionKey(2) : LayerRecord.scopeKey(scope, 2)
        for key in [victim, LayerRecord.copies + victim] {
          var value = try base.raw(.layer, key)
          try #require(!value.isEmpty, "\(kind)")
          value[3] ^= 1
          try base.forge(.layer, key, value)
        }
        let backend = try Self.open(base)
        let report = try backend.verify { _ in }
        #expect(!report.isSound && report.locked.isEmpty)
        #expect(report.findings.contains { $0.words.contains("and so is its copy") })
        #expect(report.found < 20, "\(report.findings)")
        #expect(report.counts.leaves == 401)
        let room = try backend.read { (view) throws(StoreError) in
          try view.node(trees[0], "room").leafCount
        }
        #expect(room == 400)
        let error = caught { () throws(StoreError) in
          _ = try backend.read { (view) throws(StoreError) in try view.node(trees[1], "room") }
        }
        #expect(error?.code == .damaged, "\(String(describing: error))")
      }
    }

    @Test("A cache goes on without the records of a lost session, and takes new ones")
    func cache() async throws {
      let (base, trees) = try await Self.filled()
      let third = try Self.open(base)
      try await third.commit([.overwrite(trees[1], "late", "later")])
      try await third.close()
      let victim = LayerRecord.sessionKey(3)
      for key in [victim, LayerRecord.copies + victim] { try base.forge(.layer, key, [1, 2, 3]) }
      let backend = try PackedBackend.open(
        base, name: "recording", options: StorageOptions(encryption: StoreEncryption(key: keyA)))
      for tree in trees {
        let (room, late) = try backend.read { (view) throws(StoreError) in
          (try view.node(tree, "room").leafCount, try view.node(tree, "late"))
        }
        // What stood in one record with the late one went with it.
        #expect(tree == trees[0] ? room == 400 : room <= 400)
        #expect(late.isEmpty)
      }
      let queries = try backend.read { (view) throws(StoreError) in
        try trees.map { (tree) throws(StoreError) in
          try view.trackedQueries(tree, after: nil, limit: 10).map(\.query.isComplete)
        }
      }
      #expect(queries[0] == [true])
      try await backend.commit([.overwrite(trees[0], "new", 1)])
      #expect(
        try backend.read { (view) throws(StoreError) in try view.node(trees[0], "new") } == 1)
    }
  }
#endif
