#if Encryption
  import ConiferDocument
  import ConiferKeyValue
  import ConiferQuery
  import ConiferStorage
  import ConiferTree
  import Synchronization
  import TestSupport
  import Testing

  @testable import ConiferEncryption

  /// A layer that does nothing but keep what it is told.
  private final class Probe: StoreLayer {
    let layout: Mutex<RecordLayout?> = Mutex(nil)

    func open(
      over store: any OrderedStore, _ layout: RecordLayout
    ) throws(StoreError) -> any OrderedStore {
      self.layout.withLock { $0 = layout }
      return store
    }
  }

  @Suite("Trees and lanes are erased alone, damage is set aside as ever")
  struct BackendTests {
    private typealias Backend = PackedBackend<EncryptedStore>

    private static let treeKey = Bytes(repeating: 3, count: 32)

    private static func open(
      _ base: RecordingStore, scopeKey: @escaping @Sendable (StoreScope) -> Bytes? = { _ in nil }
    ) throws -> Backend {
      let options = StorageOptions(
        encryption: StoreEncryption(key: keyA, scopeKey: scopeKey))
      let backend = try PackedBackend.open(base, name: "recording", options: options)
      return try #require(backend as? Backend)
    }

    private static func room(_ name: String) -> Node {
      Node(
        children: (0..<400).map { number in
          (Key("m\(number)"), Node(.string("message \(number) of \(name), with some more words")))
        })
    }

    private struct Filled {
      let base = RecordingStore()
      var trees: [TreeID] = []
      var ann: Lane { Lane(tree: trees[0], identity: "ann") }
      var bob: Lane { Lane(tree: trees[0], identity: "bob") }
    }

    private static func filled(
      scopeKey: @escaping @Sendable (StoreScope) -> Bytes? = { _ in nil }
    ) async throws -> Filled {
      var filled = Filled()
      let backend = try open(filled.base, scopeKey: scopeKey)
      for name in ["one", "two"] {
        let tree = try await backend.tree(named: name)
        filled.trees.append(tree)
        try await backend.commit([
          .overwrite(tree, "room", room(name)), .pin(Pin(tree: tree, path: "room/m1")),
          .saveQuery(TrackedQuery(tree: tree, path: "room", isComplete: true)),
          .setMetadata(tree, "cursor", [1, 2, 3]),
        ])
      }
      for lane in [filled.ann, filled.bob] {
        for number in 0..<5 {
          try await backend.commit([.enqueue(lane, .set(Path("room/m\(number)"), "write"))])
        }
        try await backend.commit([.finish(lane, WriteID(rawValue: 1), .acknowledged)])
      }
      try await backend.close()
      return filled
    }

    private static func node(_ backend: Backend, _ tree: TreeID) throws(StoreError) -> Node {
      try backend.read { (view) throws(StoreError) in try view.node(tree, "room") }
    }

    private static func writes(_ backend: Backend, _ lane: Lane) throws(StoreError) -> [WriteID] {
      try backend.read { (view) throws(StoreError) in
        try view.writes(lane, after: nil, limit: 100).map(\.id)
      }
    }

    /// Everything that goes over all trees does without the one that cannot be read.
    private static func expectOthers(_ backend: Backend, _ filled: Filled) async throws {
      #expect(try node(backend, filled.trees[1]) == room("two"))
      #expect(code { () throws(StoreError) in _ = try node(backend, filled.trees[0]) } == .wrongKey)
      let (names, usage) = try backend.read { (view) throws(StoreError) in
        (try view.trees().map(\.name), try view.usage(nil))
      }
      #expect(names == ["one", "two"] && usage.leaves >= 800)
      try await backend.commit([.overwrite(filled.trees[1], "more", "x")])
      while try await backend.tidy(.milliseconds(50)) {}
      _ = try await backend.evict(to: nil, dryRun: true)
      _ = try await backend.evict(to: nil, dryRun: false)
      _ = try backend.space()
      #expect(
        code { () throws(StoreError) in
          _ = try backend.read { (view) throws(StoreError) in try view.incidents() }
        } == nil)
      #expect(try node(backend, filled.trees[1]) == room("two"))
    }

    @Test("Indexes, whose keys would show values, are refused, and taken back without a word")
    func indexes() async throws {
      let backend = try Self.open(RecordingStore())
      let tree = try await backend.tree(named: "main")
      let indexes = [try IndexDefinition("rooms", by: .value)]
      let refused = await #expect(throws: StoreError.self) {
        try await backend.commit([.setIndexes(tree, indexes)])
      }
      #expect(refused?.code == .unsupported)
      try await backend.commit([.setIndexes(tree, [])])
    }

    @Test("A query of an encrypted store is told of no index, but why there is none")
    func advice() async throws {
      let filter = Filter.field(FieldPath(unchecked: ["n"]), .equal, 3)
      let query = try DocumentQuery(
        .collection(CollectionPath("c")), in: DatabaseID(project: "p")
      ).filtered(filter)
      let sorted = try QuerySpec.default.ordered(byChild: "n").limited(toFirst: 1)
      let plain = try StorageConfiguration.memory.open()
      let backends = try [plain, Self.open(RecordingStore())] as [any StorageBackend]
      for backend in backends {
        let documents = try await backend.tree(named: "documents", order: .documents)
        let nodes = try await backend.tree(named: "nodes")
        let puts = try (0..<200).map { number in
          DocumentEdit.put(
            Document(try DocumentPath("c/d\(number)"), .found(["n": .integer(number % 9)])))
        }
        try await backend.commit([
          .documents(documents, puts), .overwrite(nodes, "room", Self.room("one")),
        ])
        let keeping = try backend.keepingDocuments()
        let (answer, hint) = try keeping.readDocuments { (view) throws(StoreError) in
          (
            try view.query(Lane(tree: documents), query),
            try view.query(nodes, "room", sorted).explanation.hint
          )
        }
        let isPlain = !backend.traits.isEncrypted
        #expect(answer.documents.count == 22)
        #expect((answer.explanation.hint != nil) == isPlain && (hint != nil) == isPlain)
        #expect((answer.worthwhileIndex != nil) == isPlain)
        #expect(answer.explanation.obstacle == (isPlain ? nil : .encryption))
        // No index would serve this one anywhere.
        let all = try keeping.readDocuments { (view) throws(StoreError) in
          try view.query(
            Lane(tree: documents), DocumentQuery(query.source, in: query.database))
        }
        #expect(all.explanation.obstacle == nil)
        try await backend.close()
      }
    }

    @Test("An erased tree: the others go on, and it is wiped without its key")
    func tree() async throws {
      let filled = try await Self.filled()
      for isReopened in [false, true] {
        var backend = try Self.open(filled.base)
        let scope = StoreScope.tree(filled.trees[0])
        if !isReopened {
          try await backend.withStore { store throws(StoreError) in try store.erase(scope) }
        }
        try await Self.expectOthers(backend, filled)
        // Its lanes lie within.
        #expect(
          code { () throws(StoreError) in _ = try Self.writes(backend, filled.ann) } == .wrongKey)
        guard isReopened else {
          try await backend.close()
          continue
        }
        try await backend.commit([.wipe(filled.trees[0])])
        let (names, usage) = try backend.read { (view) throws(StoreError) in
          (try view.trees().map(\.name), try view.usage(nil))
        }
        #expect(names == ["two"] && usage.leaves == 401 && usage.queue == 0)
        for space in 2...17 where space != 14 {
          let rows = try filled.base.rowsOf(Space(id: UInt8(space), shape: .rows))
          #expect(!rows.contains { $0.key.starts(with: scope.prefix) }, "space \(space)")
        }
        let again = try await backend.tree(named: "one")
        #expect(again != filled.trees[0])
        try await backend.commit([.overwrite(again, "room", Self.room("again"))])
        try await backend.close()
        backend = try Self.open(filled.base)
        #expect(try Self.node(backend, again) == Self.room("again"))
      }
    }

    @Test("An erased tree holds up neither the commits of others nor housekeeping")
    func erasedBesides() async throws {
      let filled = try await Self.filled()
      let backend = try Self.open(filled.base)
      let (erased, other) = (filled.trees[0], filled.trees[1])
      // Enough for a dictionary and for many steps of a pass.
      var random = Seeded(1)
      let words = (0..<500).map { _ in
        String((0..<8).map { _ in Character(UnicodeScalar(UInt8(97 + random.below(26)))) })
      }
      for tree in filled.trees {
        for number in 0..<40 {
          let room = Node(
            children: (0..<200).map { index in
              let text = (0..<12).map { _ in words[random.below(500)] }.joined(separator: " ")
              return (Key("m\(index)"), Node(.string(text)))
            })
          try await backend.commit([.overwrite(tree, Path("rooms/r\(number)"), room)])
        }
      }
      while try await backend.tidy(.seconds(5)) {}
      let usage = try backend.read { (view) throws(StoreError) in try view.usage(erased) }
      #expect(usage.dictionaryCount > 0)
      let queries = try backend.read { (view) throws(StoreError) in
        try view.trackedQueries(erased, after: nil, limit: 1)
      }
      let query = try #require(queries.first)
      #expect(backend.setActive(true, query.id, in: erased))
      try await backend.withStore { store throws(StoreError) in try store.erase(.tree(erased)) }
      for number in 0..<40 {
        try await backend.commit([.overwrite(other, Path("rooms/r\(number)/m1"), "new")])
      }
      while try await backend.tidy(.seconds(5)) {}
      #expect(try backend.node(other, "rooms/r7/m1") == "new")
      try await backend.close()
    }

    @Test("What was read and kept before a tree was erased is read no more")
    func kept() async throws {
      let filled = try await Self.filled()
      let (backend, tree) = (try Self.open(filled.base), filled.trees[0])
      for _ in 1...4 { #expect(try Self.node(backend, tree) == Self.room("one")) }
      let leaf: Path = "room/m1"
      #expect(try !backend.node(tree, leaf).isEmpty)
      try await backend.withStore { store throws(StoreError) in try store.erase(.tree(tree)) }
      #expect(code { () throws(StoreError) in _ = try backend.node(tree, leaf) } == .wrongKey)
      #expect(code { () throws(StoreError) in _ = try Self.node(backend, tree) } == .wrongKey)
    }

    @Test("A tree whose own key is not given is as an erased one, and there again with the key")
    func lockedTree() async throws {
      let probe = try await Self.filled()
      let scope = StoreScope.tree(probe.trees[0])
      let filled = try await Self.filled { $0 == scope ? Self.treeKey : nil }
      var backend = try Self.open(filled.base)
      try await Self.expectOthers(backend, filled)
      await #expect(throws: StoreError.self) {
        try await backend.commit([.overwrite(filled.trees[0], "room/m1", "new")])
      }
      try await backend.close()
      backend = try Self.open(filled.base) { $0 == scope ? Self.treeKey : nil }
      #expect(try Self.node(backend, filled.trees[0]) == Self.room("one"))
    }

    @Test("An erased lane: the others go on, it is purged without its key, and its numbers go on")
    func lane() async throws {
      let filled = try await Self.filled()
      let (ann, bob) = (filled.ann, filled.bob)
      let backend = try Self.open(filled.base)
      try await backend.withStore { (store) throws(StoreError) in try store.erase(.lane(ann)) }
      #expect(code { () throws(StoreError) in _ = try Self.writes(backend, ann) } == .wrongKey)
      #expect(try Self.writes(backend, bob).count == 4)
      let (lanes, totals) = try backend.read { (view) throws(StoreError) in
        (try view.lanes(filled.trees[0]), try view.totals(ann))
      }
      #expect(lanes == [ann, bob] && totals.pending == 4)
      // New writes are taken and sealed with a new key.
      let receipt = try await backend.commit([.enqueue(ann, .set("room/m9", "new"))])
      #expect(receipt.writes.map(\.rawValue) == [6])
      let usage = try backend.read { (view) throws(StoreError) in try view.usage(filled.trees[0]) }
      try await backend.commit([.purge(ann)])
      #expect(try Self.writes(backend, ann) == [])
      let after = try backend.read { (view) throws(StoreError) in
        (
          try view.usage(filled.trees[0]), try view.totals(ann),
          try view.finishedWrite(ann, WriteID(rawValue: 1))
        )
      }
      #expect(after.0.queue < usage.queue && after.1.pending == 0 && after.2 == nil)
      let next = try await backend.commit([.enqueue(ann, .set("room/m9", "new"))])
      #expect(next.writes.map(\.rawValue) == [7])
      try await backend.close()
      let again = try Self.open(filled.base)
      #expect(try Self.writes(again, ann).map(\.rawValue) == [7])
      #expect(try Self.writes(again, bob).count == 4)
    }

    @Test("A forged run is dropped and marked incomplete, a forged write set aside")
    func damage() async throws {
      let filled = try await Self.filled()
      let tree = filled.trees[0]
      for (space, prefix) in [
        (2, StoreScope.tree(tree).prefix), (9, StoreScope.lane(filled.ann).prefix + [1]),
      ] as [(UInt8, Bytes)] {
        let space = Space(id: space, shape: .rows)
        let row = try #require(
          try filled.base.rowsOf(space).first { $0.key.starts(with: prefix) })
        var value = row.value
        value[value.count / 2] ^= 1
        try filled.base.forge(space, row.key, value)
      }
      let backend = try Self.open(filled.base)
      #expect(try Self.node(backend, tree) != Self.room("one"))
      #expect(try Self.node(backend, filled.trees[1]) == Self.room("two"))
      #expect(try Self.writes(backend, filled.ann).map(\.rawValue) == [3, 4, 5])
      #expect(try Self.writes(backend, filled.bob).count == 4)
      let (incidents, queries) = try backend.read { (view) throws(StoreError) in
        (try view.incidents(), try view.trackedQueries(tree, after: nil, limit: 10))
      }
      #expect(incidents.map(\.kind) == [.cacheRangeDropped, .writeSetAside])
      #expect(queries.map(\.query.isComplete) == [false])
    }

    /// A query, a pin, an ended write and metadata.
    @Test(
      "What is counted stays exact when a forged record is set aside",
      arguments: [UInt8(5), 8, 12, 13])
    func counts(space: UInt8) async throws {
      let filled = try await Self.filled()
      let space = Space(id: space, shape: .rows)
      let row = try #require(
        try filled.base.rowsOf(space).first {
          $0.key.starts(with: StoreScope.tree(filled.trees[0]).prefix)
        })
      var value = row.value
      value[value.count / 2] ^= 1
      try filled.base.forge(space, row.key, value)
      let backend = try Self.open(filled.base)
      let incidents = try backend.read { (view) throws(StoreError) in
        _ = try view.pins(filled.trees[0])
        _ = try view.trackedQueries(filled.trees[0], after: nil, limit: 9)
        _ = try view.finishedWrite(filled.ann, WriteID(rawValue: 1))
        _ = try view.metadata(filled.trees[0], "cursor")
        return try view.incidents()
      }
      #expect(!incidents.isEmpty)
      #expect(try backend.usageDrift() == [])
    }

    @Test("A record's scope is its tree's, or its lane's, or the store's")
    func scopes() async throws {
      let filled = try await Self.filled()
      let probe = Probe()
      _ = try PackedBackend.open(
        MemoryStore(), name: "probe", options: StorageOptions(encryption: probe))
      let known = try #require(probe.layout.withLock { $0 })
      var seen: Set<StoreScope> = []
      for space in known.spaces {
        for (key, _) in try filled.base.rowsOf(space) {
          seen.insert(known.scope(space, key.span.bytes))
        }
        for short: Bytes in [[], [0, 0, 0], [0, 0, 0, 0, 1]] {
          seen.insert(known.scope(space, short.span.bytes))
        }
      }
      #expect(
        seen == [
          .store, .tree(filled.trees[0]), .tree(filled.trees[1]), .lane(filled.ann),
          .lane(filled.bob),
        ])
      #expect(StoreScope.lane(filled.ann).lane == filled.ann)
      #expect(StoreScope.lane(filled.ann).tree == filled.trees[0])
      #expect(StoreScope.tree(filled.trees[0]).lane == nil && StoreScope.store.tree == nil)
    }
  }
#endif
