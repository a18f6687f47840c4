#if Encryption
  import ConiferEncryption
  import ConiferKeyValue
  import ConiferStorage
  import ConiferTree
  import StorageConformance
  import TestSupport
  import Testing

  @Suite("Reports of damage in an encrypted store")
  struct IncidentReportTests {
    private typealias Backend = PackedBackend<EncryptedStore>

    private static let own = Bytes(repeating: 9, count: 32)
    private static let noTree = TreeID(rawValue: 0)

    private static func options(gives scope: StoreScope? = nil) -> StorageOptions {
      StorageOptions(
        budget: nil,
        encryption: StoreEncryption(key: keyA) { $0 == scope ? own : nil })
    }

    private static func report(
      _ tree: TreeID, _ place: String, _ kind: Incident.Kind = .writeSetAside
    ) -> StorageEdit {
      .report(Incident(kind: kind, tree: tree, place: place, bytes: [1, 2, 3]))
    }

    /// Reports of the store itself and of three trees, of two kinds.
    private static func fill(_ backend: any StorageBackend) async throws -> [TreeID] {
      var trees: [TreeID] = []
      for name in ["one", "two", "three"] { trees.append(try await backend.tree(named: name)) }
      for (name, tree) in zip(["0", "1", "2", "3"], [noTree] + trees) {
        for number in 0..<3 {
          try await backend.commit([
            report(tree, "\(name) write \(number)"),
            report(tree, "\(name) range \(number)", .cacheRangeDropped),
          ])
        }
      }
      return trees
    }

    private static func places(_ name: String) -> [String] {
      ["range", "write"].flatMap { kind in (0..<3).map { "\(name) \(kind) \($0)" } }
    }

    /// The places of all reports, read in windows.
    private static func told(
      _ backend: any StorageBackend, limit: Int
    ) throws(StoreError) -> [String] {
      var (places, end, hasMore): ([String], IncidentPosition, Bool) = ([], .init(), true)
      while hasMore {
        let from = end
        let window = try backend.read { (view) throws(StoreError) in
          try view.incidents(after: from, limit: limit) { _ in true }
        }
        places += window.incidents.map(\.place)
        (end, hasMore) = (window.end, window.hasMore)
      }
      return places
    }

    private static func open(
      _ engine: EncryptedEngine, _ path: String, gives scope: StoreScope? = nil
    ) throws -> any StorageBackend {
      try engine.backends.open(path, options(gives: scope))
    }

    @Test(
      "Those of an erased tree are left out, the others told",
      arguments: EncryptedEngine.allCases)
    func erased(_ engine: EncryptedEngine) async throws {
      for victim in 0..<3 {
        let scratch = try Scratch(inMemory: true)
        defer { Directory.remove(scratch.path) }
        var backend = try Self.open(engine, scratch.store)
        let trees = try await Self.fill(backend)
        #expect(try Self.told(backend, limit: 2) == ["0", "1", "2", "3"].flatMap(Self.places))
        let first = try backend.read { (view) throws(StoreError) in
          try IncidentAcknowledgements(view).adding(in: view) { $0.place.hasSuffix("write 0") }
        }
        #expect(first.count == 3)
        try await backend.commit(first.edits)
        let scope = StoreScope.tree(trees[victim])
        let sealed = try #require(backend as? Backend)
        try await sealed.withStore { (store) throws(StoreError) in try store.erase(scope) }
        let others = ["0", "1", "2", "3"].filter { $0 != "\(victim + 1)" }.flatMap(Self.places)
        for round in 0..<2 {
          for limit in [1, 2, 5, 100] {
            #expect(try Self.told(backend, limit: limit) == others, "\(victim), \(limit)")
          }
          guard round == 0, engine != .memory else { continue }
          try await backend.close()
          backend = try Self.open(engine, scratch.store)
        }
        // What is reported later has a new key.
        let before = try backend.read { (view) throws(StoreError) in try view.incidentPosition() }
        try await backend.commit([
          Self.report(trees[victim], "late"), Self.report(trees[victim], "x", .recordSetAside),
        ])
        let late = try backend.read { (view) throws(StoreError) in
          try view.incidents(after: before).map(\.place)
        }
        #expect(late == ["x", "late"])
        // What somebody has dealt with is told and remembered as ever.
        let meant = try backend.read { (view) throws(StoreError) in
          try IncidentAcknowledgements(view).adding(in: view) { $0.tree != trees[victim] }
        }
        #expect(meant.count == 2 * 2)
        try await backend.commit(meant.edits)
        let open = try backend.read { (view) throws(StoreError) in
          let known = try IncidentAcknowledgements(view)
          return try view.incidents(after: IncidentPosition(), limit: 9) { known.isOpen($0) }
        }
        #expect(open.incidents.map(\.place) == ["late"] && !open.hasMore)
        // The oldest one that is replaced cannot be read.
        for number in 0..<260 {
          try await backend.commit([Self.report(trees[victim], "\(number)", .recordSetAside)])
        }
        #expect(
          try Self.told(backend, limit: 100).filter { $0 == "late" || $0 == "259" }.count == 2)
        try await backend.close()
      }
    }

    @Test("Those of a tree whose own key is not given are told with it")
    func notGiven() async throws {
      let scratch = try Scratch(inMemory: true)
      defer { Directory.remove(scratch.path) }
      let scope = StoreScope.tree(TreeID(rawValue: 1))
      var backend = try Self.open(.sqlite, scratch.store, gives: scope)
      _ = try await Self.fill(backend)
      let all = ["0", "1", "2", "3"].flatMap(Self.places)
      #expect(try Self.told(backend, limit: 4) == all)
      try await backend.close()
      backend = try Self.open(.sqlite, scratch.store)
      #expect(try Self.told(backend, limit: 4) == ["0", "2", "3"].flatMap(Self.places))
      let end = try backend.read { (view) throws(StoreError) in
        try view.incidents(after: IncidentPosition(), limit: 100) { _ in true }.end
      }
      try await backend.close()
      backend = try Self.open(.sqlite, scratch.store, gives: scope)
      // Who was told the others hears of them once the key is there.
      let rest = try backend.read { (view) throws(StoreError) in try view.incidents(after: end) }
      #expect(rest.map(\.place) == Self.places("1"))
      try await backend.close()
    }

    @Test("A copy counts no report twice when the target is repaired while they are counted")
    func countedOnce() async throws {
      let source = try PackedBackend.open(
        MemoryStore(), name: "source", options: StorageOptions(budget: nil))
      let tree = try await source.tree(named: "main")
      for _ in 0..<2 { try await source.commit([Self.report(tree, "same")]) }
      let base = RecordingStore()
      var target = try PackedBackend.open(base, name: "target", options: Self.options())
      let copy = try await target.tree(named: "main")
      // More than a window of reports has, so that the damage is met when some were counted.
      try await target.commit(
        [Self.report(copy, "same")] + (0..<130).map { Self.report(copy, "other \($0)") })
      try await target.close()
      let reports = Space(id: 15, shape: .blobs)
      let row = try #require(try base.rowsOf(reports).last)
      try base.forge(reports, row.key, row.value.dropLast() + [row.value.last.map { $0 ^ 1 } ?? 0])
      target = try PackedBackend.open(base, name: "target", options: Self.options())
      try await StoreCopier(source: source, target: target) { _ in }.run(
        from: CopyPosition(phase: .incidents))
      let told = try Self.told(target, limit: 100)
      #expect(told.filter { $0 == "same" }.count == 2 && !told.contains("other 129"))
      try await source.close()
      try await target.close()
    }
  }
#endif
