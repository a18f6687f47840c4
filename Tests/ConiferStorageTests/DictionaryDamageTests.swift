#if Zstd
  import ConiferKeyValue
  import ConiferTree
  import Testing

  @testable import ConiferLeafStore
  @testable import ConiferStorage

  /// What happens when a dictionary cannot be read.
  @Suite struct DictionaryDamageTests {
    private let tree = TreeID(rawValue: 1)
    private let other = TreeID(rawValue: 2)
    private var place: StoreError.Place {
      StoreError.Place(space: Spaces.dictionaries.id, key: DictionaryRecord.key(tree, 1))
    }

    /// A store of two trees with a dictionary each; the first also has runs without one, and a delta
    /// with one.
    private func filled() async throws -> MemoryStore {
      let store = MemoryStore()
      let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
      for name in ["main", "other"] { _ = try await backend.tree(named: name) }
      for (index, id) in [tree, other].enumerated() {
        var chat = ChatData(seed: 20 + UInt64(index))
        try await backend.commit([.overwrite(id, "rooms", chat.rooms(22))])
      }
      for round in 0..<3 {
        try await backend.tidyAll()
        try await backend.commit([.setMetadata(tree, "round", [UInt8(round)])])
      }
      // What is not compressed names no dictionary and outlives it.
      let plain = try MemoryBackend(
        store, name: "memory", options: StorageOptions(compression: .none))
      var chat = ChatData(seed: 22)
      try await plain.commit([.overwrite(tree, "zz", chat.noise(60))])
      try await backend.commit([
        .overwrite(tree, "rooms/room101/m10003/text", "changed"),
        .saveQuery(TrackedQuery(tree: tree, path: "rooms/room101", isComplete: true)),
        .saveQuery(TrackedQuery(tree: tree, path: "zz/n10050", isComplete: true)),
      ])
      #expect(try store.dictionaries(tree) == [1] && store.dictionaries(other) == [1])
      let named = try store.namedByRuns(tree)
      #expect((named[0] ?? 0) > 1 && (named[1] ?? 0) > 5)
      return store
    }

    private enum Harm: CaseIterable { case missing, damaged }

    private func harm(_ store: MemoryStore, _ harm: Harm) throws {
      switch harm {
      case .missing: try store.remove(Spaces.dictionaries, place.key)
      case .damaged: try store.damage(Spaces.dictionaries, place.key)
      }
    }

    private func open(
      _ store: MemoryStore, _ role: StoreRole = .cache
    ) throws -> MemoryBackend {
      try MemoryBackend(store, name: "memory", options: StorageOptions(role: role))
    }

    @Test func `A cache drops what needs it, once, and keeps the rest`() async throws {
      let original = try await filled()
      let whole = try open(DamageTests.copy(original)).node(tree)
      let kept = try open(DamageTests.copy(original)).node(other)
      for harm in Harm.allCases {
        let store = try DamageTests.copy(original)
        try self.harm(store, harm)
        let backend = try open(store)
        let found = try backend.node(tree)
        #expect(found[Path("rooms/room101")].isEmpty, "\(harm)")
        #expect(found[Key("rooms")].leafCount * 20 < whole[Key("rooms")].leafCount, "\(harm)")
        #expect(found[Path("zz/n10050")] == whole[Path("zz/n10050")], "\(harm)")
        #expect(try backend.node(other) == kept, "\(harm)")
        let (incidents, isLost, isKept) = try backend.read { (view) throws(StoreError) in
          (
            try view.incidents(), try !view.isComplete(tree, "rooms/room101"),
            try view.isComplete(tree, "zz/n10050")
          )
        }
        #expect(incidents.map(\.kind) == [.cacheRangeDropped], "\(harm)")
        #expect(incidents.first?.place.contains("dictionary 1") == true)
        #expect(incidents.first?.bytes.isEmpty == (harm == .missing))
        #expect(isLost && isKept, "\(harm)")
        #expect(try store.namedByRuns(tree)[1] == nil)
        try backend.finishMending()
        #expect(try store.keys(Spaces.deltas).isEmpty, "\(harm)")
        #expect(try backend.usage(tree).dictionaryCount == 0, "\(harm)")
        try expectExactUsage(store, "\(harm)")
        // The store goes on, and gives the number to no other dictionary.
        var chat = ChatData(seed: 25)
        try await backend.commit([.overwrite(tree, "rooms", chat.rooms(22))])
        try await backend.tidyAll()
        #expect(try store.dictionaries(tree) == [2], "\(harm)")
      }
    }

    @Test func `A commit and a pass meet it as a read does`() async throws {
      let original = try await filled()
      for harm in Harm.allCases {
        for isCommit in [false, true] {
          let store = try DamageTests.copy(original)
          try self.harm(store, harm)
          let backend = try open(store)
          if isCommit {
            try await backend.commit([.overwrite(tree, "rooms/room105/m10100/text", "new")])
          } else {
            // The delta is folded into its run.
            try await backend.tidyAll()
          }
          let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
          #expect(incidents.count == 1, "\(harm), commit \(isCommit)")
          #expect(try backend.node(tree, "rooms/room105").leafCount == (isCommit ? 1 : 0))
          #expect(try backend.node(tree, "rooms/room101").isEmpty)
          try backend.finishMending()
          try expectExactUsage(store, "\(harm), commit \(isCommit)")
        }
      }
    }

    @Test func `An authority leaves everything as it is`() async throws {
      let original = try await filled()
      let kept = try open(DamageTests.copy(original)).node(other)
      for harm in Harm.allCases {
        let store = try DamageTests.copy(original)
        try self.harm(store, harm)
        let before = try DamageTests.records(store)
        let backend = try open(store, .authority)
        let error = #expect(throws: StoreError.self) { try backend.node(tree) }
        #expect(error?.code == .damaged && error?.place == place, "\(harm)")
        #expect(try backend.node(tree, "zz").childCount == 60, "\(harm)")
        #expect(try backend.node(other) == kept, "\(harm)")
        try await backend.tidyAll()
        let after = try DamageTests.records(store)
        for space in [Spaces.runs, Spaces.deltas, Spaces.dictionaries] {
          #expect(
            after.filter { $0.space == space }.map(\.value)
              == before.filter { $0.space == space }.map(\.value), "\(harm), \(space)")
        }
        let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
        #expect(incidents.map(\.kind) == [.rangeUnreadable], "\(harm)")
        #expect(incidents.map(\.place) == ["dictionary 1"], "\(harm)")
        // New data is stored, and read again.
        try await backend.commit([.overwrite(tree, "zz/n10050", "new")])
        #expect(try backend.node(tree, "zz/n10050") == "new")
      }
    }

    @Test func `An authority keeps the dictionary of runs that it cannot read`() async throws {
      let store = try await filled()
      let keys = try store.view().keys(Spaces.runs, prefix: StoreKey.prefix(tree))
      let others = try store.view().keys(Spaces.runs, prefix: StoreKey.prefix(other))
      // The last step of a pass sees the other tree alone.
      #expect((keys.count + others.count) % 32 < others.count)
      for key in keys { try store.damage(Spaces.runs, key) }
      try await open(store, .authority).tidyAll()
      #expect(try store.dictionaries(tree) == [1])
    }

    @Test func `A kind of a later version is refused and stays`() async throws {
      let store = try await filled()
      let value = try #require(try store.view().value(Spaces.dictionaries, place.key))
      var payload = try #require(Record.open(Spaces.dictionaries, place.key, value))
      payload[0] = 9
      let sealed = Record.seal(Spaces.dictionaries, place.key, payload)
      var batch = Batch()
      batch.put(Spaces.dictionaries, place.key, sealed)
      _ = try store.apply(batch, .relaxed)
      let backend = try open(store)
      let error = #expect(throws: StoreError.self) { try backend.node(tree) }
      #expect(error?.code == .unsupported)
      try await backend.commit([.overwrite(other, "x", 1)])
      _ = try? await backend.tidy(.seconds(2))
      #expect(try store.view().value(Spaces.dictionaries, place.key) == sealed)
    }

    @Test func `One of a kind of a later version stays, though nothing names it`() async throws {
      let store = try await filled()
      // An unnamed one that is known goes in the same pass.
      for (number, kind) in [(7, 9), (8, 1)] as [(UInt32, UInt8)] {
        let key = DictionaryRecord.key(other, number)
        var batch = Batch()
        batch.put(
          Spaces.dictionaries, key, Record.seal(Spaces.dictionaries, key, [kind, 1, 2, 3]))
        _ = try store.apply(batch, .relaxed)
      }
      try store.damage(Spaces.usage, StoreKey.prefix(other))
      try await open(store).tidyAll()
      #expect(try store.dictionaries(other) == [1, 7])
      try expectExactUsage(store, "with an unknown dictionary")
    }

    @Test func `A run without a dictionary goes with a delta that needs one`() async throws {
      let store = try await filled()
      let changed = Node(.string(String(repeating: "again and ", count: 20)))
      try await open(store).commit([.overwrite(tree, "zz/n10020", changed)])
      let delta = try #require(try store.keys(Spaces.deltas).last)
      let value = try #require(try store.view().value(Spaces.deltas, delta))
      #expect(try DeltaRecord.Head(key: delta, value: value).dictionary == 1)
      try store.remove(Spaces.dictionaries, place.key)
      let backend = try open(store)
      #expect(try backend.node(tree, "zz/n10020").isEmpty)
      #expect(try !backend.node(tree, "zz/n10050").isEmpty)
      let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
      #expect(incidents.count == 1)
      try backend.finishMending()
      try expectExactUsage(store, "after the run was dropped")
    }

    @Test func `Nonsense in a dictionary under a right checksum is an error at worst`() async throws
    {
      let original = try await filled()
      let value = try #require(try original.view().value(Spaces.dictionaries, place.key))
      let payload = try #require(Record.open(Spaces.dictionaries, place.key, value))
      var forgeries = [0, 1, 2, 3, 4, 11, 200].map { Bytes(payload.prefix($0)) }
      for index in [1, 3, 5, 8, 12, 40, 120, payload.count / 2] {
        for byte: UInt8 in [0, 0xFF] {
          var forged = payload
          forged[index] = byte
          forgeries.append(forged)
        }
      }
      for forged in forgeries {
        let store = try DamageTests.copy(original)
        var batch = Batch()
        batch.put(
          Spaces.dictionaries, place.key, Record.seal(Spaces.dictionaries, place.key, forged))
        _ = try store.apply(batch, .relaxed)
        let backend = try open(store)
        do throws(StoreError) {
          _ = try backend.read { (view) throws(StoreError) in try view.node(tree, "rooms/room103") }
        } catch { #expect(error.code == .damaged) }
        _ = try? await backend.commit([.overwrite(tree, "rooms/room104/m10009/text", "new")])
        _ = try? await backend.tidy(.milliseconds(20))
        #expect(try !backend.node(other, "rooms/room103").isEmpty)
        try await backend.close()
      }
    }

    @Test func `A recount finds the newest dictionary and repeats no number`() async throws {
      let store = try await filled()
      let counted = try UsageRow.read(store.view(), tree)
      try store.damage(Spaces.usage, StoreKey.prefix(tree))
      let backend = try open(store)
      _ = try backend.usage(tree)
      try backend.finishMending()
      #expect(try backend.usage(tree) == counted.usage)
      let found = try UsageRow.read(store.view(), tree)
      #expect(found.newestDictionary == 1 && found.nextDictionary > 1)
      #expect(found.raw == counted.raw && found.dictionaries == 1)
    }

    @Test func `A usage record of the first layout is counted anew`() async throws {
      let store = try await filled()
      let counted = try UsageRow.read(store.view(), tree)
      // Leaves, bytes before compression, next run, then spaces and their bytes. Behind two bytes it
      // would read as a row of today.
      let old: Bytes = [5, 6, 7, 2, 1, 3, 1, 4, 1, 5, 1, 6, 0x85, 1]
      #expect(UsageRow([0x80, 0] + old.dropFirst(2)) != nil)
      let key = StoreKey.prefix(tree)
      var batch = Batch()
      batch.put(Spaces.usage, key, Record.seal(Spaces.usage, key, old))
      _ = try store.apply(batch, .relaxed)
      let backend = try open(store)
      _ = try backend.usage(tree)
      try backend.finishMending()
      #expect(try backend.usage(tree) == counted.usage)
    }

    @Test func `Records that may not name a dictionary are refused when they do`() throws {
      let codec = Codec(level: 5)
      let error = #expect(throws: StoreError.self) {
        try codec.unpack(.zstdDictionary, [1, 2, 3], rawCount: 9)
      }
      #expect(error?.code == .unsupported)
    }
  }
#endif
