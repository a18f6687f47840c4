import ConiferDocument
import ConiferKeyValue
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Indexes of documents in a store: kept by commits, built in slices, restarted after damage.
@Suite struct DocumentIndexKeepingTests {
  private typealias Samples = DocumentSamples

  private func tree(_ backend: MemoryBackend) async throws -> TreeID {
    try await backend.tree(named: "documents", order: .documents)
  }

  /// Documents that fill more than one slice.
  private func documents(_ count: Int64, in collection: String = "c") -> [Document] {
    (0..<count).map { number in
      var fields = MapValue.empty
      fields["a"] = .integer(number % 10)
      fields["b"] = .string("a text of some words, the \(number)th of its collection")
      fields["list"] = .array([.integer(number % 3), .integer(number % 4)])
      return Document(Samples.path("\(collection)/d\(100_000 + number)"), .found(fields))
    }
  }

  /// An index whose rows have the fields in this order.
  private func index(_ fields: String...) throws -> DocumentIndex {
    try DocumentIndex(
      stored: "c",
      fields.map {
        DocumentIndex.Field(Samples.field($0), $0 == "list" ? .contains : .ascending)
      }, scope: .collection)
  }

  private func filtered(
    _ field: String, _ test: FieldFilter.Operator, _ value: DocumentValue
  ) throws -> DocumentQuery {
    try DocumentQuery(.collection(Samples.collections[0]), in: Samples.database)
      .filtered(.field(Samples.field(field), test, value))
  }

  private func answer(
    _ backend: MemoryBackend, _ tree: TreeID, _ query: DocumentQuery
  ) throws -> DocumentAnswer {
    try backend.readDocuments { (view) throws(StoreError) in
      try view.query(Lane(tree: tree, identity: ""), query)
    }
  }

  private func status(
    _ backend: MemoryBackend, _ tree: TreeID
  ) throws -> [DocumentIndexStatus] {
    try backend.readDocuments { (view) throws(StoreError) in try view.documentIndexes(tree) }
  }

  private func isSound(_ backend: MemoryBackend) throws -> Bool {
    let report = try backend.verify()
    if !report.isSound { Issue.record("\(report.findings)") }
    return try report.isSound && backend.usageDrift().isEmpty
  }

  // MARK: Keeping

  @Test(arguments: Seeded.seeds(15))
  func `Rows follow commits, and queries by them give what is stored`(seed: UInt64) async throws {
    var random = Seeded(seed)
    var store = MemoryStore()
    var backend = try IndexTests.open(store)
    let tree = try await tree(backend)
    var stored: [DocumentPath: Document] = [:]
    var asked = 0
    for round in 0..<12 {
      if random.chance(35) {
        let indexes = (0..<random.below(4)).map { _ in Samples.index(&random) }
        try await backend.commit([.documents(tree, [.setIndexes(indexes)])])
      }
      var edits: [DocumentEdit] = []
      for _ in 0..<random.below(30) {
        let path = try random.pick(Samples.collections).document(random.pick(Samples.ids))
        var document = Samples.document(path, &random)
        if document.state == .unseen { document = Document(path, .missing) }
        if random.chance(15) {
          edits.append(.forget(path))
          stored[path] = nil
        } else {
          edits.append(.put(document))
          stored[path] = document
        }
      }
      try await backend.commit([.documents(tree, edits)])
      if random.chance(60) { try await IndexTests.waitUntilIdle(backend) }
      if random.chance(20) {
        store = try DamageTests.copy(store)
        backend = try IndexTests.open(store)
      }
      #expect(try isSound(backend), "seed \(seed), round \(round)")
      let all = stored.values.map { $0 }
      guard !all.isEmpty else { continue }
      for _ in 0..<6 {
        let query = Samples.query(&random, over: all)
        guard (try? query.validate()) != nil else { continue }
        asked += 1
        let answer = try answer(backend, tree, query)
        #expect(
          answer.documents == query.evaluate(all),
          "seed \(seed), round \(round): \(query.canonical) by \(answer.explanation)")
      }
    }
    #expect(asked > 30, "seed \(seed)")
    try await backend.close()
  }

  @Test(arguments: Seeded.seeds(2))
  func `Documents of many runs that a commit stores at once are those that were given`(
    seed: UInt64
  ) async throws {
    var random = Seeded(seed)
    let store = ProbeStore(bestValueSize: 1024)
    let backend = try PackedBackend(store, name: "probe", options: StorageOptions(budget: nil))
    let tree = try await backend.tree(named: "documents", order: .documents)
    try await backend.commit([
      .documents(tree, [.setIndexes([index("a"), index("list", "b")])])
    ])
    while try await backend.tidy(.milliseconds(1)) {}
    var stored: [DocumentPath: Document] = [:]
    for _ in 0..<8 {
      var edits: [DocumentEdit] = []
      for _ in 0..<100 {
        let number = Int64(random.below(500))
        let path = Samples.path("\(random.pick(["c", "e"]))/d\(100_000 + number)")
        if random.chance(5) {
          edits.append(.forget(path))
          stored[path] = nil
          continue
        }
        // Some come twice in a commit, some as they are.
        var fields = MapValue.empty
        fields["a"] = .integer(Int64(random.below(3)))
        fields["b"] = .string("a text of some words, the \(number)th of its collection")
        fields["list"] = .array([.integer(number % 3), .integer(Int64(random.below(4)))])
        let document = Document(path, .found(fields))
        edits.append(.put(document))
        stored[path] = document
      }
      try await backend.commit([.documents(tree, edits)])
    }
    let report = try backend.verify()
    #expect(report.isSound, "seed \(seed): \(report.findings)")
    let read = try backend.readDocuments { (view) throws(StoreError) in
      var found: [Document] = []
      for collection in ["c", "e"] {
        let query = DocumentQuery(
          .collection(Samples.collection(collection)), in: Samples.database)
        found += try view.query(Lane(tree: tree, identity: ""), query).documents
      }
      return found
    }
    #expect(read == stored.values.sorted { $0.path < $1.path }, "seed \(seed)")
    try expectExactUsage(store.base, "seed \(seed)")
    #expect(try store.base.keys(Spaces.runs).count > 4)
    try await backend.close()
  }

  @Test func `A document in chunks has its rows, also when it changes twice in a commit`()
    async throws
  {
    let backend = try IndexTests.open(MemoryStore())
    let tree = try await tree(backend)
    try await backend.commit([.documents(tree, [.setIndexes([index("a")])])])
    try await IndexTests.waitUntilIdle(backend)
    func large(_ a: Int64, _ letter: Character) -> Document {
      let text = String(repeating: letter, count: 300_000)
      return Document(Samples.path("c/large"), .found(["a": .integer(a), "b": .string(text)]))
    }
    let small = Document(Samples.path("c/large"), .found(["a": 1]))
    let commits: [[DocumentEdit]] = [
      [.put(large(1, "x"))], [.put(large(2, "x"))], [.put(small), .put(large(3, "y"))],
      [.put(large(1, "z")), .put(small)], [.forget(small.path), .put(large(3, "z"))],
      [.put(small), .forget(small.path)],
    ]
    for (edits, a) in zip(commits, [1, 2, 3, 1, 3, nil] as [Int64?]) {
      try await backend.commit([.documents(tree, edits)])
      for number in Int64(1)...3 {
        let found = try answer(backend, tree, filtered("a", .equal, .integer(number)))
        #expect(found.documents.count == (number == a ? 1 : 0), "\(number) after \(edits.count)")
      }
      #expect(try isSound(backend))
    }
    try await backend.close()
  }

  /// Where each row was compared with each other one, the commits took minutes.
  @Test func `A document with 50,000 elements changes its rows in an index that contains`()
    async throws
  {
    let backend = try IndexTests.open(MemoryStore())
    let tree = try await tree(backend)
    try await backend.commit([.documents(tree, [.setIndexes([index("list")])])])
    try await IndexTests.waitUntilIdle(backend)
    func document(_ numbers: some Sequence<Int64>) -> Document {
      let elements = numbers.map { DocumentValue.integer($0) }
      return Document(Samples.path("c/long"), .found(["list": .array(elements)]))
    }
    for numbers in [0..<50_000, 7..<50_003, 49_000..<99_000] as [Range<Int64>] {
      // The last one comes first, and an equal one is there twice.
      let order = numbers.reversed() + [numbers.lowerBound]
      try await backend.commit([.documents(tree, [.put(document(order))])])
      #expect(try status(backend, tree).map(\.entries) == [numbers.count])
      for (number, count) in [
        (numbers.lowerBound, 1), (numbers.upperBound - 1, 1), (numbers.lowerBound - 1, 0),
        (numbers.upperBound, 0),
      ] {
        let found = try answer(backend, tree, filtered("list", .arrayContains, .integer(number)))
        #expect(found.documents.count == count, "\(number) of \(numbers)")
        #expect(found.explanation.indexEntries == count)
      }
    }
    #expect(try isSound(backend))
    try await backend.close()
  }

  /// Where long values were copied for each element, this one took 12 GB.
  @Test func `Long values beside many elements are cut before they are multiplied`() async throws {
    let backend = try IndexTests.open(MemoryStore())
    let tree = try await tree(backend)
    let indexes = try [index("b", "list", "a"), index("list", "b")]
    try await backend.commit([.documents(tree, [.setIndexes(indexes)])])
    let elements = (0..<20_000).map { DocumentValue.integer(Int64($0)) }
    let text = DocumentValue.string(String(repeating: "x", count: 300_000))
    let document = Document(
      Samples.path("c/long"), .found(["a": text, "b": text, "list": .array(elements)]))
    try await backend.commit([.documents(tree, [.put(document)])])
    // Behind a text that is cut no element is told from another one.
    try await IndexTests.waitUntilIdle(backend)
    #expect(try status(backend, tree).map(\.entries) == [1, 20_000])
    let query = try filtered("list", .arrayContains, 7).ordered(by: Samples.field("b"))
    let found = try answer(backend, tree, query)
    #expect(found.documents == [document] && found.explanation.indexEntries == 1)
    #expect(try isSound(backend))
    try await backend.close()
  }

  @Test func `An index is built in slices, also after a restart, and not used before`() throws {
    let store = MemoryStore()
    func opened() -> PackedEngine {
      let options = StorageOptions(budget: nil, compression: .none)
      return PackedEngine(store, options, Activity(after: 0))
    }
    var engine = opened()
    try engine.writer.change(.relaxed) { (tx) throws(StoreError) in try Trees.writeFormat(tx) }
    let tree = try engine.committer.tree("documents", .documents, .relaxed)
    var stored = documents(2000)
    let index = try index("a")
    _ = engine.group([[.documents(tree, stored.map { .put($0) })]], .relaxed)
    _ = engine.group([[.documents(tree, [.setIndexes([index])])]], .relaxed)
    let query = try filtered("a", .equal, 3)
    func ask() throws -> DocumentExplanation {
      let view = PackedView(LeafSnapshot(engine.leaves, try store.view()))
      let answer = try view.query(Lane(tree: tree), query)
      #expect(answer.documents == query.evaluate(stored))
      return answer.explanation
    }
    var slices = 0
    while try engine.indexBuilder.needsSliceAfterRepair() {
      let cost = try ask()
      #expect(cost.plan == .scan(collections: 1) && cost.building == index && cost.hint == nil)
      // Documents on both sides of the place that the build has come to.
      for place in [slices, stored.count - 1 - slices] {
        stored[place] = stored[place].setting(a: 3)
        _ = engine.group([[.documents(tree, [.put(stored[place])])]], .relaxed)
      }
      // As after a kill: what the slices wrote is all there is.
      if slices % 3 == 2 { engine = opened() }
      try engine.indexBuilder.slice()
      slices += 1
    }
    #expect(slices > 6)
    let cost = try ask()
    #expect(cost.plan == .indexes([[index]]) && cost.indexEntries == cost.documentsRead)
    #expect(try isSound(IndexTests.open(store)))
  }

  @Test func `A tree of documents has a thousand indexes, and is refused more`() async throws {
    let store = MemoryStore()
    var backend = try IndexTests.open(store)
    let tree = try await tree(backend)
    let indexes = try [index("a")] + (1..<DocumentIndex.mostInTree).map { try index("f\($0)") }
    try await backend.commit([.documents(tree, [.setIndexes(indexes)])])
    let another = try index("b")
    do throws(StoreError) {
      try await backend.commit([.documents(tree, [.addIndexes([another])])])
      Issue.record("one more was taken")
    } catch {
      #expect(error.code == .invalid && error.message.contains("at most 1000 indexes, not 1001"))
    }
    // The others would take as many slices as they are.
    while try status(backend, tree)[0].state != .ready { _ = try await backend.tidy(.zero) }
    try await backend.commit([.documents(tree, documents(20).map { .put($0) })])
    let copy = try DamageTests.copy(store)
    try await backend.close()
    backend = try IndexTests.open(copy)
    let answer = try answer(backend, tree, filtered("a", .equal, 3))
    #expect(try answer.explanation.plan == .indexes([[index("a")]]) && answer.documents.count == 2)
    #expect(try status(backend, tree).map(\.index) == indexes)
    #expect(try isSound(backend))
    try await backend.close()
  }

  @Test func `Rows of dropped indexes go, and their numbers are not given again`() async throws {
    let store = MemoryStore()
    let backend = try IndexTests.open(store)
    let tree = try await tree(backend)
    try await backend.commit([.documents(tree, documents(600).map { .put($0) })])
    try await backend.commit([.documents(tree, [.setIndexes([index("a"), index("list")])])])
    try await IndexTests.waitUntilIdle(backend)
    #expect(try status(backend, tree).map(\.entries) == [600, 1050])
    try await backend.commit([.documents(tree, [.setIndexes([index("list")])])])
    try await backend.commit([.documents(tree, [.setIndexes([index("list"), index("a")])])])
    try await IndexTests.waitUntilIdle(backend)
    #expect(try status(backend, tree).map(\.entries) == [1050, 600])
    #expect(try IndexSet.read(try store.view(), tree).indexes.map(\.number) == [2, 3])
    try await backend.commit([.documents(tree, [.setIndexes([])])])
    try await IndexTests.waitUntilIdle(backend)
    let rows = try store.view().keys(Spaces.indexes, prefix: StoreKey.prefix(tree))
    #expect(rows.allSatisfy { IndexSet.number($0) == 0 })
    try await backend.close()
  }

  @Test func `A collection whose path is too long for indexes is read whole, and told why`()
    async throws
  {
    let backend = try IndexTests.open(MemoryStore())
    let tree = try await tree(backend)
    func ask(_ collection: String) async throws -> DocumentExplanation {
      let all = documents(30, in: collection)
      try await backend.commit([.documents(tree, all.map { .put($0) })])
      try await IndexTests.waitUntilIdle(backend)
      let source = DocumentQuery.Source.collection(Samples.collection(collection))
      let query = try DocumentQuery(source, in: Samples.database)
        .filtered(.field(Samples.field("a"), .equal, 3))
      let found = try answer(backend, tree, query)
      #expect(found.documents == query.evaluate(all))
      #expect(
        try answer(backend, tree, DocumentQuery(source, in: Samples.database)).explanation.obstacle
          == nil)
      return found.explanation
    }
    // Around the collection's id stand a label and an end for each segment, and the path's end.
    let longest = "z/" + String(repeating: "z", count: 140 - 1 - 2 * 3 - 2) + "/c"
    let tooLong = "y" + longest
    #expect(try await ask(tooLong).obstacle == .longPath(bytes: 141, most: 140))
    #expect(try await ask(longest).obstacle == nil)
    #expect(try await ask(longest).hint == index("a"))
    try await backend.commit([.documents(tree, [.setIndexes([index("a")])])])
    let cost = try await ask(tooLong)
    #expect(cost.obstacle == .longPath(bytes: 141, most: 140) && cost.hint == nil)
    #expect(try await ask(longest).plan == .indexes([[index("a")]]))
    try await backend.close()
  }

  @Test func `Waiting writes are laid over what an index finds`() async throws {
    let backend = try IndexTests.open(MemoryStore())
    let tree = try await tree(backend)
    try await backend.commit([.documents(tree, documents(100).map { .put($0) })])
    try await backend.commit([.documents(tree, [.setIndexes([index("a")])])])
    try await IndexTests.waitUntilIdle(backend)
    let query = try filtered("a", .equal, 3).limited(to: 3)
    // The first hit goes elsewhere, and a document is made that no server knows.
    let batch = MutationBatch(
      written: .zero, bases: [],
      mutations: [
        Mutation(Samples.path("c/d100003"), .set(["a": 4], []), if: .none),
        Mutation(Samples.path("c/d100004"), .set(["a": 3], []), if: .none),
        Mutation(Samples.path("c/new"), .set(["a": 3], []), if: .none),
      ])
    try await backend.commit([.enqueue(Lane(tree: tree, identity: ""), batch.payload)])
    let found = try answer(backend, tree, query)
    #expect(found.documents.map(\.path.id) == ["d100004", "d100013", "d100023"])
    #expect(try found.explanation.plan == .indexes([[index("a")]]))
    #expect(found.explanation.overlays == 3)
    try await backend.close()
  }

  @Test func `Only trees of documents take indexes of documents`() async throws {
    let backend = try IndexTests.open(MemoryStore())
    let (nodes, documents) = try await (backend.tree(named: "nodes"), tree(backend))
    await #expect(throws: StoreError.self) {
      try await backend.commit([.documents(nodes, [.setIndexes([index("a")])])])
    }
    await #expect(throws: StoreError.self) {
      try await backend.commit([.setIndexes(documents, [IndexTests.index()])])
    }
    try await backend.close()
  }

  @Test func `A copy declares the same indexes and builds them`() async throws {
    let backend = try IndexTests.open(MemoryStore())
    let tree = try await tree(backend)
    let indexes = try [index("a"), index("list")]
    try await backend.commit([.documents(tree, documents(100).map { .put($0) })])
    try await backend.commit([.documents(tree, [.setIndexes(indexes)])])
    let copy = try IndexTests.open(MemoryStore())
    try await StoreCopier(source: backend, target: copy, reached: { _ in }).run(
      from: CopyPosition())
    try await IndexTests.waitUntilIdle(copy)
    let own = try await self.tree(copy)
    #expect(try status(copy, own).map(\.index) == indexes)
    #expect(try answer(copy, own, filtered("a", .equal, 3)).explanation.indexEntries == 10)
    #expect(try isSound(copy))
    try await copy.close()
    try await backend.close()
  }

  // MARK: Damage

  @Test func `Rows follow commits while a tree is counted anew`() async throws {
    let store = MemoryStore()
    var backend = try IndexTests.open(store)
    let tree = try await tree(backend)
    let all = documents(300)
    try await backend.commit([.documents(tree, all.map { .put($0) })])
    try await backend.commit([.documents(tree, [.setIndexes([index("a")])])])
    try await IndexTests.waitUntilIdle(backend)
    let usage = try #require(
      try DamageTests.records(store).first {
        $0.space == Spaces.usage && StoreKey.tree($0.key) == tree
      })
    try store.damage(usage.space, usage.key)
    backend = try IndexTests.open(store)
    // The commit meets the damage, and goes on without counts.
    try await backend.commit([.documents(tree, [.put(all[13].setting(a: 5))])])
    let query = try filtered("a", .equal, 5)
    #expect(try answer(backend, tree, query).documents.count == 31)
    while try await backend.tidy(.seconds(1)) {}
    #expect(try answer(backend, tree, query).documents.count == 31)
    #expect(try isSound(backend))
    try await backend.close()
  }

  @Test func `A damaged row, a lost row and a row too many restart the index`() async throws {
    for loss in 0..<3 {
      let original = MemoryStore()
      var backend = try IndexTests.open(original)
      let tree = try await tree(backend)
      let all = documents(300)
      try await backend.commit([.documents(tree, all.map { .put($0) })])
      try await backend.commit([.documents(tree, [.setIndexes([index("a")])])])
      try await IndexTests.waitUntilIdle(backend)
      let store = try DamageTests.copy(original)
      let rows = try DocumentIndexRows(index("a"), prefix: IndexSet.prefix(tree, 1))
      let row = try #require(rows.rows(all[13]).first).key
      var batch = Batch()
      switch loss {
      case 0: try store.damage(Spaces.indexes, row)
      case 1: batch.delete(Spaces.indexes, row)
      default:
        // It says of a document what the document does not.
        batch.delete(Spaces.indexes, row)
        let other = try #require(rows.rows(all[13].setting(a: 5)).first).key
        batch.put(Spaces.indexes, other, Record.seal(Spaces.indexes, other, []))
      }
      _ = try store.apply(batch, .relaxed)
      backend = try IndexTests.open(store)
      #expect(try !backend.verify().isSound)
      let query = try filtered("a", .equal, loss == 2 ? 5 : 3)
      if loss != 1 {
        // Whoever meets the damage repairs it, and reads without the index meanwhile.
        let found = try answer(backend, tree, query)
        #expect(found.documents == query.evaluate(all))
        try await IndexTests.waitUntilIdle(backend)
        #expect(try answer(backend, tree, query).explanation.plan == .indexes([[index("a")]]))
        #expect(try isSound(backend))
      }
      try await backend.close()
    }
  }
}

extension Document {
  fileprivate func setting(a: Int64) -> Document {
    var fields = fields ?? .empty
    fields["a"] = .integer(a)
    return Document(path, .found(fields))
  }
}
