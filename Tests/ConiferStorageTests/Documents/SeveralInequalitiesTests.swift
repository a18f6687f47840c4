import ConiferDocument
import ConiferKeyValue
import TestSupport
import Testing

@testable import ConiferStorage

/// Queries that compare several fields by more than equality: what rows of an index tell of them is judged before documents are read.
@Suite struct SeveralInequalitiesTests: DocumentSampling {
  private typealias Samples = DocumentSamples

  // MARK: Against the whole collection

  /// Each query has a composite index of its fields beside others. At least half of them use it or another index of several fields.
  @Test(arguments: Seeded.seeds(100))
  func `Several inequalities by composite indexes give what the whole collection gives`(
    seed: UInt64
  ) throws {
    var random = Seeded(seed)
    let stored = StoredDocuments(Samples.documents(&random))
    var (asked, composite) = (0, 0)
    for _ in 0..<24 {
      let query = Samples.inequalities(&random, over: stored.all)
      guard (try? query.validate()) != nil, query.target.isSeveral else { continue }
      var indexes = (0..<random.below(3)).map { _ in Samples.index(&random) }
      indexes.insert(
        Samples.composite(of: query.target, &random), at: random.below(indexes.count + 1))
      asked += 1
      let answer = try stored.answer(query.target, indexes)
      #expect(
        answer.documents == query.target.evaluate(stored.all),
        "seed \(seed): \(query.target.canonical) by \(answer.access) of \(indexes)")
      if case .indexes(let groups) = answer.access, groups.joined().contains(where: \.isComposite) {
        composite += 1
      }
    }
    #expect(asked >= 12 && composite * 2 >= asked, "seed \(seed): \(composite) of \(asked)")
  }

  /// Writes of a user move documents into what a query gives and out of it, over an index that knows nothing of them.
  @Test(arguments: Seeded.seeds(30))
  func `Waiting writes are laid over what several inequalities find by an index`(
    seed: UInt64
  ) async throws {
    var random = Seeded(seed)
    let backend = try IndexTests.open(MemoryStore())
    let tree = try await backend.tree(named: "documents", order: .documents)
    let (anna, nobody) = (Lane(tree: tree, identity: "anna"), Lane(tree: tree))
    let stored = Samples.documents(&random).filter { $0.state != .unseen }
    try await backend.commit([.documents(tree, stored.map { .put($0) })])
    var shown = Dictionary(uniqueKeysWithValues: stored.map { ($0.path, $0) })
    for _ in 0..<12 + random.below(20) {
      let collection = Samples.collections[random.below(2)]
      let path = try collection.document(random.pick(Samples.ids))
      let fields = Samples.document(path, &random).fields ?? .empty
      let change: Mutation.Change =
        switch random.below(6) {
        case 0: .delete
        case 1: .set(fields, [])
        default: .patch(fields, FieldMask(Samples.fields.shuffled(using: &random).prefix(2)), [])
        }
      let batch = MutationBatch(
        written: .zero, bases: [], mutations: [Mutation(path, change, if: .none)])
      try await backend.commit([.enqueue(anna, batch.payload)])
      shown[path] = batch.applied(to: shown[path] ?? Document(path, .unseen))
    }
    let all = shown.values.sorted { $0.path < $1.path }
    var (rounds, composite, moved) = (0, 0, 0)
    // With some seeds few queries give anything that a write could move.
    while rounds < 16 || (moved == 0 && rounds < 400) {
      rounds += 1
      let query = Samples.inequalities(&random, over: stored)
      guard (try? query.validate()) != nil, query.target.isSeveral else { continue }
      let index = Samples.composite(of: query.target, &random)
      try await backend.commit([.documents(tree, [.setIndexes([index])])])
      try await IndexTests.waitUntilIdle(backend)
      let (hers, theirs) = try backend.readDocuments { (view) throws(StoreError) in
        (try view.query(anna, query), try view.query(nobody, query))
      }
      let words = "seed \(seed): \(query.canonical) by \(hers.explanation)"
      #expect(hers.documents == query.evaluate(all), "\(words)")
      #expect(theirs.documents == query.evaluate(stored), "\(words)")
      guard hers.explanation.plan == .indexes([[index]]), index.isComposite else { continue }
      composite += 1
      let (now, then) = (Set(hers.documents.map(\.path)), Set(theirs.documents.map(\.path)))
      if now != then { moved += 1 }
    }
    #expect(composite > 3 && moved > 0, "seed \(seed): \(moved) of \(composite)")
    #expect(try backend.verify().isSound)
    try await backend.close()
  }

  // MARK: What is read

  private func query(_ filters: Filter...) throws -> DocumentQuery {
    let all = DocumentQuery(.collection(Samples.collections[0]), in: Samples.database)
    return try filters.reduce(all) { try $0.filtered($1) }
  }

  /// A thousand documents: `a` is 0 to 9, and for each `a` there is each `b` of 0 to 99.
  private var documents: [Document] {
    (0..<1000).map { (number: Int64) in
      var fields = MapValue.empty
      fields["a"] = .integer(number / 100)
      fields["b"] = .integer(number % 100)
      fields["list"] = .array([.integer(number % 2), .integer(7)])
      return Document(Samples.path("c/d\(1000 + number)"), .found(fields))
    }
  }

  /// The answer, which is what the whole collection gives and names this index.
  private func answer(_ query: DocumentQuery, _ index: DocumentIndex) throws -> FoundDocuments {
    let stored = StoredDocuments(documents)
    let answer = try stored.answer(query.target, [index])
    #expect(answer.documents == query.target.evaluate(stored.all))
    #expect(answer.access == .indexes([[index]]))
    return answer
  }

  @Test func `Documents are read only when all fields of their rows match`() throws {
    let both = try query(filter("a", .greaterThan, 1), filter("b", .lessThan, 5))
    for (fields, most, isSorted) in [
      (["a", "b"], 120, false), (["-a", "-b"], 120, false), (["a", "-b"], 120, true),
      (["b", "a"], 50, true), (["-b", "a"], 50, true),
    ] {
      let index = try DocumentIndex("c", index(fields[0], fields[1]).fields)
      let found = try answer(both, index)
      #expect(found.documentsRead == 40 && found.documents.count == 40, "\(index)")
      #expect(found.documentsDecoded == 40, "\(index)")
      #expect(found.rowsRead >= 40 && found.rowsRead <= most, "\(index): \(found.rowsRead)")
      #expect(found.isSorted == isSorted, "\(index)")
    }
  }

  @Test func `A limit, a limit to the last and cursors end the walk of several inequalities`()
    throws
  {
    let both = try query(filter("a", .greaterThan, 1), filter("b", .lessThan, 5))
    let (a, b) = (Samples.field("a"), Samples.field("b"))
    for index in [try index("a", "b"), try index("-a", "-b")] {
      let first = try answer(both.limited(to: 7), index)
      #expect(first.documentsRead == 7 && first.rowsRead <= 16 && !first.isSorted)
      let last = try answer(both.ordered(by: a).ordered(by: b).limited(toLast: 7), index)
      #expect(last.documentsRead == 7 && last.rowsRead <= 25 && !last.isSorted)
      let behind = try answer(
        both.ordered(by: a).ordered(by: b).starting(after: [4, 2]).ending(at: [6, 1]), index)
      #expect(behind.documentsRead == 9 && behind.rowsRead <= 40 && !behind.isSorted)
    }
    // Firestore orders by the fields' names, not by the order in which they are compared.
    let turned = try query(filter("b", .lessThan, 5), filter("a", .greaterThan, 1)).limited(to: 7)
    #expect(try answer(turned, index("a", "b")).documentsRead == 7)
    #expect(try answer(turned, index("b", "a")).isSorted)
  }

  @Test func `Values that are left out, lists and alternatives are judged in rows`() throws {
    let above = filter("a", .greaterThan, 7)
    let index = try index("a", "b")
    let other = try answer(query(above, filter("b", .notEqual, 3)), index)
    #expect(other.documentsRead == 198 && other.rowsRead == 200)
    let without = try answer(query(above, filter("b", .notIn, [.integer(3), 4])), index)
    #expect(without.documentsRead == 196 && without.rowsRead == 200)
    // Both alternatives read the same rows, once.
    let listed = try answer(query(above, filter("b", .in, [3, 50])), index)
    #expect(listed.documentsRead == 4 && listed.rowsRead <= 60)
    let either = try answer(
      query(
        .or([
          .and([above, filter("b", .lessThan, 5)]),
          .and([above, filter("b", .greaterThanOrEqual, 98)]),
        ])), index)
    #expect(either.documentsRead == 14 && either.rowsRead <= 40)
  }

  @Test func `Fields behind one that contains, and names, are judged in rows`() throws {
    let list = filter("list", .arrayContains, 1)
    let tagged = try query(
      list, filter("a", .greaterThan, 1), filter("b", .lessThan, 5))
    let found = try answer(tagged, index("*list", "a", "b"))
    #expect(found.documentsRead == 16 && found.rowsRead <= 100)
    // As in stores that were made before fields that contain came first.
    let old = try DocumentIndex(
      stored: "c",
      [
        DocumentIndex.Field(Samples.field("a")),
        DocumentIndex.Field(Samples.field("list"), .contains),
      ], scope: .collection)
    let late = try answer(query(list, filter("a", .greaterThan, 7)), old)
    #expect(late.documentsRead == 100 && late.rowsRead <= 300)
    let named = try query(
      filter("a", .greaterThan, 1), .field(.documentID, .greaterThanOrEqual, "d1990"))
    #expect(try answer(named, index("a")).documentsRead == 10)
    let but = try query(filter("a", .greaterThan, 8), .field(.documentID, .notEqual, "d1990"))
    #expect(try answer(but, index("a")).documentsRead == 99)
  }

  @Test func `Of two indexes with a range the one whose rows judge more is chosen`() throws {
    let both = try query(filter("a", .greaterThan, 1), filter("b", .lessThan, 5))
    let stored = StoredDocuments(documents)
    for indexes in [
      [try index("a"), try index("a", "-b")], [try index("b", "a"), try index("b")],
    ] {
      let answer = try stored.answer(both.target, indexes)
      let best = try #require(indexes.first { $0.fields.count == 2 })
      #expect(answer.access == .indexes([[best]]))
    }
  }

  @Test func `A row that holds a value cut leaves the rest to its document`() throws {
    let all = (0..<20).map { (number: Int64) in
      let text = Samples.long + (number % 2 == 0 ? "a" : "b")
      return Document(
        Samples.path("c/d\(100 + number)"), .found(["a": .string(text), "b": .integer(number)]))
    }
    let stored = StoredDocuments(all)
    for value in ["", Samples.long, Samples.long + "a"] {
      for fields in [["a", "b"], ["-a", "b"], ["b", "a"], ["b", "-a"]] {
        let both = try query(
          filter("a", .greaterThan, .string(value)), filter("b", .greaterThan, 9))
        let index = try index(fields[0], fields[1])
        let answer = try stored.answer(both.target, [index])
        #expect(answer.documents == both.target.evaluate(all), "\(value) by \(index)")
        #expect(answer.documents.count == (value.hasSuffix("a") ? 5 : 10))
        #expect(answer.documentsRead == (fields[0] == "b" ? 10 : 20))
      }
    }
  }
}

extension DocumentIndex {
  fileprivate var isComposite: Bool { fields.count > 1 }
}

extension DocumentTarget {
  /// Whether the target orders by several fields, as it does when it has several inequalities.
  fileprivate var isSeveral: Bool { orders.count > 2 }
}

extension DocumentSamples {
  /// A query with inequalities on two or three fields, and perhaps an equality, orders, cursors and a limit.
  fileprivate static func inequalities(
    _ random: inout Seeded, over documents: [Document]
  ) -> DocumentQuery {
    let source: DocumentQuery.Source =
      random.chance(25) ? .group("c") : .collection(collections[0])
    var query = DocumentQuery(source, in: database)
    func add(_ filter: Filter) { query = (try? query.filtered(filter)) ?? query }
    func inequality(_ field: FieldPath) -> Filter {
      let test = random.pick([
        FieldFilter.Operator.lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual,
        .notEqual, .notIn,
      ])
      let value =
        test == .notIn
        ? DocumentValue.array((0..<1 + random.below(2)).map { _ in scalar(&random) })
        : scalar(&random)
      return .field(FieldFilter(field, test, value))
    }
    let compared = fields.prefix(3).shuffled(using: &random).prefix(2 + random.below(2))
    for field in compared {
      add(random.chance(80) ? inequality(field) : .or([inequality(field), inequality(field)]))
    }
    if random.chance(20) { add(.field(FieldFilter(fields[3], .arrayContains, scalar(&random)))) }
    if random.chance(15) { add(inequality(compared[compared.startIndex])) }
    for field in compared where random.chance(30) {
      let direction = random.pick([Direction.ascending, .descending])
      query = (try? query.ordered(by: field, direction)) ?? query
    }
    if random.chance(30) { query = bounded(query, &random, over: documents) }
    return random.chance(50) ? limited(query, &random) : query
  }

  /// An index of the fields that a target orders by, in some order and directions, and of one that contains.
  fileprivate static func composite(
    of target: DocumentTarget, _ random: inout Seeded
  ) -> DocumentIndex {
    var paths = target.orders.map(\.field).filter { !$0.isDocumentID }
    if random.chance(50) { paths.shuffle(using: &random) }
    let isFlipped = random.chance(50)
    var named = paths.map { path -> DocumentIndex.Field in
      let direction = target.orders.first { $0.field == path }?.direction ?? .ascending
      let kind = random.chance(70) ? (isFlipped ? direction.reversed : direction) : .ascending
      return DocumentIndex.Field(path, DocumentIndex.Field.Kind(kind))
    }
    if target.canonical.contains("list"), random.chance(50) {
      named.append(DocumentIndex.Field(fields[3], .contains))
    }
    let scope: DocumentIndex.Scope =
      if case .group = target.source { .group } else { .collection }
    guard let index = try? DocumentIndex("c", named, scope: scope) else {
      preconditionFailure("no index \(named)")
    }
    return index
  }
}
