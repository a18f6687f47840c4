#if Zstd
  import ConiferKeyValue
  import ConiferTree
  import Synchronization
  import Testing

  @testable import ConiferLeafStore
  @testable import ConiferStorage

  /// When dictionaries are trained, used and dropped.
  @Suite struct DictionaryTests {
    private let tree = TreeID(rawValue: 1)

    private func open(
      _ store: ProbeStore, _ compression: Compression = .standard
    ) throws -> PackedBackend<ProbeStore> {
      try PackedBackend(
        store, name: "probe", options: StorageOptions(compression: compression))
    }

    /// A store with one tree of about 700 KB, not tidied yet, and what it holds.
    private func filled(
      seed: UInt64 = 1, bestValueSize: Int = 4080
    ) async throws -> (ProbeStore, PackedBackend<ProbeStore>, Node) {
      let store = ProbeStore(bestValueSize: bestValueSize)
      let backend = try open(store)
      _ = try await backend.tree(named: "main")
      var chat = ChatData(seed: seed)
      let node: Node = ["rooms": chat.rooms(24)]
      try await backend.commit([.overwrite(tree, .root, node)])
      return (store, backend, node)
    }

    /// How many batches changed something; an empty one makes earlier ones durable.
    private func batches(_ store: ProbeStore) -> Int {
      store.applied.withLock { $0.count(where: { $0.edits > 0 }) }
    }

    @Test(arguments: [4080, 16 << 10])
    func `Tidying trains one dictionary and packs every run with it`(best: Int) async throws {
      let (store, backend, node) = try await filled(bestValueSize: best)
      let before = try backend.usage(tree)
      #expect(before.dictionaries == 0 && before.runs.raw > 600_000)
      try await backend.tidyAll()
      let after = try backend.usage(tree)
      #expect(after.dictionaryCount == 1)
      #expect(after.dictionaries > 4096 && after.dictionaries < 33 << 10)
      #expect(try store.base.namedByRuns(tree).keys.sorted() == [1])
      let saved = before.total - after.total
      #expect(saved * 100 > before.total * 5, "\(before.total) bytes became \(after.total)")
      #expect(try backend.node(tree) == node)
      try expectExactUsage(store.base, "after tidying")
      // A second pass finds nothing to do, and neither does one after reopening.
      let written = batches(store)
      #expect(try await !backend.tidy(.seconds(2)))
      let again = try open(store)
      try await again.tidyAll()
      #expect(batches(store) == written)
      #expect(try again.node(tree) == node)
      #expect(try again.usage(tree) == after)
    }

    @Test func `A tree under half a megabyte gets none`() async throws {
      let store = ProbeStore()
      let backend = try open(store)
      _ = try await backend.tree(named: "main")
      var chat = ChatData(seed: 3)
      try await backend.commit([.overwrite(tree, .root, chat.rooms(14))])
      #expect(try backend.usage(tree).runs.raw > 300_000)
      // However much is written, if little stays.
      try await backend.commit([.overwrite(tree, .root, chat.rooms(14))])
      #expect(try UsageRow.read(store.view(), tree).recent.raw > DictionaryTrainer.leastNew)
      try await backend.tidyAll()
      #expect(try backend.usage(tree).dictionaryCount == 0)
    }

    @Test func `What gains too little gets none, and is not tried again at once`() async throws {
      let store = ProbeStore()
      let backend = try open(store)
      _ = try await backend.tree(named: "main")
      var chat = ChatData(seed: 4)
      try await backend.commit([.overwrite(tree, .root, chat.noise(1000))])
      try await backend.tidyAll()
      #expect(try backend.usage(tree).dictionaryCount == 0)
      #expect(try UsageRow.read(store.view(), tree).recent == RecentRuns())
      let written = batches(store)
      let trainer = DictionaryTrainer(LeafStore(store, .standard))
      #expect(try trainer.train() == nil)
      try await open(store).tidyAll()
      #expect(batches(store) == written)
      // As much again is worth another try.
      try await backend.commit([.overwrite(tree, "more", chat.noise(800))])
      let refused = try #require(try trainer.train())
      #expect(refused.record == nil)
    }

    @Test func `The same data gives the same dictionary`() async throws {
      var found: [Bytes] = []
      for _ in 0..<2 {
        let (store, _, _) = try await filled(seed: 5)
        let training = try DictionaryTrainer(LeafStore(store, .standard)).train()
        found.append(try #require(training?.record?.content))
      }
      #expect(found[0] == found[1])
    }

    @Test func `Other data brings another dictionary, and the old one goes with its last run`()
      async throws
    {
      let (store, backend, node) = try await filled(seed: 6)
      try await backend.tidyAll()
      var other = ChatData(seed: 77, words: 2000)
      var expected = node
      for part in 0..<4 {
        let rooms = other.rooms(12)
        expected = expected.setting(Path("other/\(part)"), to: rooms)
        try await backend.commit([.overwrite(tree, Path("other/\(part)"), rooms)])
      }
      // Trained, but no run packed with it yet: the old runs are as they were.
      let engine = PackedEngine(store, StorageOptions(role: .cache), Activity(after: 0))
      let training = try #require(try DictionaryTrainer(engine.leaves).train())
      #expect(training.record != nil && training.number == 2)
      try engine.store(training)
      #expect(try store.base.dictionaries(tree) == [1, 2])
      #expect(try store.base.namedByRuns(tree)[2] == nil)
      #expect(try backend.node(tree) == expected)
      // New runs use the new one; runs with either are read side by side, also by a new process.
      let more = other.rooms(4)
      expected = expected.setting(Path("more"), to: more)
      let again = try open(store)
      try await again.commit([.overwrite(tree, "more", more)])
      let named = try store.base.namedByRuns(tree)
      #expect((named[1] ?? 0) > 0 && (named[2] ?? 0) > 0)
      #expect(try open(store).node(tree) == expected)
      // In the end no dictionary stays without a run that names it.
      try await again.tidyAll()
      let left = try store.base.namedByRuns(tree)
      #expect(left[2] != nil)
      #expect(try Set(store.base.dictionaries(tree)) == Set(left.keys.filter { $0 != 0 }))
      #expect(try again.usage(tree).dictionaryCount == store.base.dictionaries(tree).count)
      #expect(try open(store).node(tree) == expected)
      try expectExactUsage(store.base, "after retraining")
      let written = batches(store)
      #expect(try await !again.tidy(.seconds(2)))
      try await open(store).tidyAll()
      #expect(batches(store) == written)
    }

    @Test func `An old dictionary is dropped once its runs are gone`() async throws {
      let (store, backend, _) = try await filled(seed: 8)
      try await backend.tidyAll()
      #expect(try store.base.dictionaries(tree) == [1])
      // All that was packed with the first goes; the second one is trained from other data.
      var other = ChatData(seed: 80, words: 1500)
      let rooms = other.rooms(40)
      try await backend.commit([.overwrite(tree, .root, ["other": rooms])])
      try await backend.tidyAll()
      #expect(try store.base.dictionaries(tree) == [2])
      #expect(try backend.node(tree) == ["other": rooms])
      try expectExactUsage(store.base, "after the first was dropped")
    }

    @Test func `A dictionary that a killed process never used is used, or dropped`() async throws {
      for isEmptied in [false, true] {
        let (store, _, node) = try await filled(seed: 9)
        let engine = PackedEngine(store, StorageOptions(role: .cache), Activity(after: 0))
        try engine.store(#require(try DictionaryTrainer(engine.leaves).train()))
        #expect(try store.base.dictionaries(tree) == [1])
        #expect(try store.base.namedByRuns(tree)[1] == nil)
        // The process dies here.
        let backend = try open(store)
        if isEmptied { try await backend.commit([.overwrite(tree, .root, ["a": 1])]) }
        try await backend.tidyAll()
        #expect(try store.base.dictionaries(tree) == (isEmptied ? [] : [1]))
        #expect(try backend.node(tree) == (isEmptied ? ["a": 1] : node))
        #expect(try (backend.usage(tree).dictionaries == 0) == isEmptied)
        try expectExactUsage(store.base, "after the kill")
        guard isEmptied else { continue }
        // Its number is not given again.
        try await backend.commit([.overwrite(tree, .root, node)])
        try await backend.tidyAll()
        #expect(try store.base.dictionaries(tree) == [2])
      }
    }

    @Test func `Small runs on either side of those that are packed anew stay apart`() async throws {
      let (store, backend, node) = try await filled(seed: 14)
      let engine = PackedEngine(store, StorageOptions(role: .cache), Activity(after: 0))
      try engine.store(#require(try DictionaryTrainer(engine.leaves).train()))
      // What stays is one step of a pass: a run of one tiny leaf, runs of rooms, another tiny one.
      var edits: [StorageEdit] = [.overwrite(tree, "a", 1), .overwrite(tree, "z", 1)]
      var expected = node.setting(Path("a"), to: 1).setting(Path("z"), to: 1)
      for room in [100] + Array(106...123) {
        edits.append(.overwrite(tree, Path("rooms/room\(room)"), .empty))
        expected = expected.setting(Path("rooms/room\(room)"), to: .empty)
      }
      try await backend.commit(edits)
      let heads = try store.view().entries(Spaces.runs, prefix: StoreKey.prefix(tree)).map {
        try RunHead(storeKey: $0.key, value: $0.value)
      }
      #expect(heads.count < 32 && heads.first?.count == 1 && heads.last?.count == 1)
      try await backend.tidyAll()
      #expect(try backend.node(tree) == expected)
      #expect(try (store.base.namedByRuns(tree)[1] ?? 0) > 4)
      try expectExactUsage(store.base, "after tidying")
    }

    @Test func `A dictionary that comes too late is not kept`() async throws {
      let (store, backend, _) = try await filled(seed: 10)
      let engine = PackedEngine(store, StorageOptions(role: .cache), Activity(after: 0))
      let training = try #require(try DictionaryTrainer(engine.leaves).train())
      try engine.store(training)
      let written = batches(store)
      // Another task was faster.
      try engine.store(training)
      #expect(batches(store) == written)
      #expect(try store.base.dictionaries(tree) == [1])
      // The tree is gone.
      try await backend.commit([.wipe(tree)])
      #expect(try store.base.keys(Spaces.dictionaries).isEmpty)
      try engine.store(training)
      #expect(try store.base.keys(Spaces.dictionaries).isEmpty)
      #expect(try backend.usage(nil).dictionaries == 0)
    }

    @Test func `Each tree has its own, and a wiped tree takes it along`() async throws {
      let (store, backend, node) = try await filled(seed: 11)
      let other = try await backend.tree(named: "other")
      var chat = ChatData(seed: 110)
      let rooms = chat.rooms(24)
      try await backend.commit([.overwrite(other, .root, rooms)])
      for _ in 0..<2 {
        try await backend.tidyAll()
        try await backend.commit([.overwrite(tree, "again", 1)])
      }
      try await backend.tidyAll()
      #expect(try store.base.dictionaries(tree) == [1])
      #expect(try store.base.dictionaries(other) == [1])
      let both = try backend.usage(nil).dictionaries
      let own = try backend.usage(tree).dictionaries
      #expect(own > 0 && own < both)
      try await backend.commit([.wipe(tree)])
      #expect(try backend.usage(nil).dictionaries == both - own)
      #expect(try store.base.dictionaries(tree).isEmpty)
      #expect(try open(store).node(other) == rooms)
      // A tree of the same name begins without, and with data of its own.
      let anew = try await backend.tree(named: "main")
      try await backend.commit([.overwrite(anew, .root, node)])
      #expect(try store.base.namedByRuns(anew).keys.sorted() == [0])
      #expect(try open(store).node(anew) == node)
      try expectExactUsage(store.base, "after a tree was wiped")
    }

    @Test func `Without compression none is trained, and those that are there are read`()
      async throws
    {
      let (store, _, node) = try await filled(seed: 12)
      let plain = try open(store, .none)
      try await plain.tidyAll()
      #expect(try store.base.keys(Spaces.dictionaries).isEmpty)
      try await open(store).tidyAll()
      #expect(try store.base.dictionaries(tree) == [1])
      // Reading, small changes, rewriting and tidying go on without compression, and tell nothing
      // about the dictionary.
      let recent = try UsageRow.read(store.view(), tree).recent
      let again = try open(store, .none)
      #expect(try again.node(tree) == node)
      try await again.commit([.overwrite(tree, "rooms/room101/m10003/text", "changed")])
      try await again.commit([.overwrite(tree, "rooms/room102", .empty)])
      try await again.tidyAll()
      #expect(try store.base.namedByRuns(tree)[0] != nil)
      #expect(try UsageRow.read(store.view(), tree).recent == recent)
      let expected = node.setting(Path("rooms/room101/m10003/text"), to: "changed")
        .setting(Path("rooms/room102"), to: .empty)
      #expect(try again.node(tree) == expected)
      #expect(try store.base.dictionaries(tree) == [1])
      #expect(try open(store).node(tree) == expected)
      try expectExactUsage(store.base, "after writing without compression")
    }

    @Test func `Deltas are packed with the runs' dictionary`() async throws {
      let (store, backend, node) = try await filled(seed: 13)
      var expected = node
      let source = "rooms/room103/m10007"
      let text = try #require(node[Path(source)][Key("text")].leaf)
      func change() async throws -> Int {
        for number in 0..<6 {
          let path = Path("rooms/room\(105 + number)/m10050/text")
          let changed = Node(.string("\(number) \(text)"))
          expected = expected.setting(path, to: changed)
          try await backend.commit([.overwrite(tree, path, changed)])
        }
        let usage = try backend.usage(tree).deltas
        #expect(usage.raw > 0)
        return usage.stored
      }
      let plain = try await change()
      try await backend.tidyAll()
      #expect(try backend.usage(tree).deltas == StorageUsage.Packed())
      for number in 0..<6 {
        try await backend.commit([
          .overwrite(tree, Path("rooms/room\(105 + number)/m10050/text"), "short")
        ])
      }
      try await backend.tidyAll()
      let packed = try await change()
      #expect(packed * 100 < plain * 88, "\(plain) bytes without, \(packed) with")
      for key in try store.base.keys(Spaces.deltas) {
        let value = try #require(try store.view().value(Spaces.deltas, key))
        #expect(try DeltaRecord.Head(key: key, value: value).dictionary == 1)
      }
      #expect(try open(store).node(tree) == expected)
      try expectExactUsage(store.base, "with deltas")
      // A dictionary that deltas alone name is one that is in use.
      let tx = try LeafStore(store, .standard).transaction()
      try NamedDictionaries().dropOthers(tx)
      #expect(!tx.state.isChanged)
      try tx.deleteAll(Spaces.deltas, prefix: StoreKey.prefix(tree))
      try NamedDictionaries().dropOthers(tx)
      #expect(try tx.keys(Spaces.dictionaries, prefix: []).isEmpty)
    }

    @Test func `The cache of dictionaries is bounded and keeps those used last`() {
      let cache = DictionaryCache()
      let tree = TreeID(rawValue: 1)
      for number in 1...UInt32(DictionaryCache.capacity) {
        cache.add(tree, TreeDictionary(number: number, ratio: 1, [1, 2, 3]))
      }
      #expect(cache.find(tree, 1) != nil)
      #expect(cache.find(TreeID(rawValue: 2), 1) == nil)
      cache.add(tree, TreeDictionary(number: 99, ratio: 1, [4]))
      #expect(cache.find(tree, 2) == nil)
      #expect(cache.find(tree, 1) != nil && cache.find(tree, 99) != nil)
    }
  }
#endif
