import ConiferDocument
import TestSupport
import Testing

@Suite struct `Evaluation of queries` {
  /// What a query finds, said again without normal form, targets and their order.
  private static func plain(_ query: DocumentQuery, _ documents: [Document]) -> [Document] {
    let orders = query.orders
    func value(_ document: Document, _ field: FieldPath) -> DocumentValue? {
      document.value(at: field, in: query.database)
    }
    func meets(_ filter: Filter, _ document: Document) -> Bool {
      func isEmpty(_ filter: Filter) -> Bool {
        switch filter {
        case .field: return false
        case .and(let parts), .or(let parts): return parts.allSatisfy(isEmpty)
        }
      }
      switch filter {
      case .field(let filter): return filter.matches(document)
      case .and(let parts): return parts.filter { !isEmpty($0) }.allSatisfy { meets($0, document) }
      case .or(let parts):
        let parts = parts.filter { !isEmpty($0) }
        return parts.isEmpty || parts.contains { meets($0, document) }
      }
    }
    func order(_ a: [DocumentValue?], _ b: [DocumentValue?]) -> Int {
      for (order, pair) in zip(orders, zip(a, b)) {
        guard let x = pair.0, let y = pair.1 else { continue }
        let result = DocumentValue.compare(x, y)
        if result != 0 { return order.direction == .ascending ? result : -result }
      }
      return 0
    }
    func place(_ document: Document) -> [DocumentValue?] {
      orders.map { value(document, $0.field) }
    }
    let found = documents.filter { document in
      guard document.fields != nil, place(document).allSatisfy({ $0 != nil }) else { return false }
      switch query.source {
      case .collection(let path): if document.path.collection != path { return false }
      case .group(let id): if document.path.collection.id != id { return false }
      case .document(let path): if document.path != path { return false }
      }
      guard query.filters.allSatisfy({ meets($0, document) }) else { return false }
      if let start = query.start {
        let result = order(place(document), start.values)
        if result < 0 || result == 0 && !start.isInclusive { return false }
      }
      if let end = query.end {
        let result = order(place(document), end.values)
        if result > 0 || result == 0 && !end.isInclusive { return false }
      }
      return true
    }.sorted { order(place($0), place($1)) < 0 }
    guard let limit = query.limit else { return found }
    return Array(limit.side == .first ? found.prefix(limit.count) : found.suffix(limit.count))
  }

  @Test(arguments: Seeded.seeds(4))
  func `the normal form finds what the query asks for`(seed: UInt64) {
    var random = Seeded(seed)
    var hits = 0
    for _ in 0..<600 {
      let documents = RandomQueries.documents(&random)
      let query = RandomQueries.query(&random, over: documents)
      let expected = Self.plain(query, documents)
      #expect(
        query.evaluate(documents).map(\.path) == expected.map(\.path),
        "seed \(seed): \(query.canonical)")
      hits += expected.isEmpty ? 0 : 1
    }
    #expect(hits > 150)
  }

  @Test(arguments: Seeded.seeds(3))
  func `the alternatives together are the filter`(seed: UInt64) throws {
    var random = Seeded(seed)
    for _ in 0..<300 {
      let source = DocumentQuery.Source.group("c")
      let tree = RandomQueries.tree(&random, in: source)
      guard let filter = tree.normalized, filter.disjunctionCount < 200 else { continue }
      #expect(filter.disjunctions.count == filter.disjunctionCount, "seed \(seed): \(filter)")
      #expect(filter.normalized == filter, "seed \(seed): \(filter)")
      for document in RandomQueries.documents(&random) where document.fields != nil {
        #expect(
          filter.matches(document)
            == filter.disjunctions.contains { $0.allSatisfy { $0.matches(document) } },
          "seed \(seed): \(filter) for \(document)")
      }
    }
  }

  @Test(arguments: Seeded.seeds(3))
  func `pages behind each other's last document are the whole`(seed: UInt64) throws {
    var random = Seeded(seed)
    for _ in 0..<150 {
      let documents = RandomQueries.documents(&random)
      var query = DocumentQuery(.group("c"), in: Writes.database)
      for field in RandomQueries.fields.shuffled(using: &random).prefix(random.below(3)) {
        query = try query.ordered(by: field, random.pick([.ascending, .descending]))
      }
      let all = query.evaluate(documents)
      var paged: [Document] = []
      var page = try query.limited(to: 3)
      while paged.count <= all.count {
        let found = page.evaluate(documents)
        paged += found
        guard let last = found.last else { break }
        page = try query.starting(after: last).limited(to: 3)
      }
      #expect(paged.map(\.path) == all.map(\.path), "seed \(seed): \(query.canonical)")
    }
  }

  /// A document with the field `f`, or without it.
  private static func document(_ value: DocumentValue?) -> Document {
    Document(Writes.path(), .found(value.map { ["f": $0] } ?? [:]))
  }

  static let matches: [(FieldFilter.Operator, DocumentValue, [DocumentValue], [DocumentValue?])] = [
    (.equal, 1, [1, 1.0], [nil, .null, 2, "1", true]),
    (.equal, nil, [.null], [nil, 0, false]),
    (.equal, .double(.nan), [.double(.nan)], [0, .null]),
    (.equal, 0.0, [0, -0.0], [1]),
    (.equal, [1], [[1], [1.0]], [[1, 2], 1]),
    (.equal, "\u{e9}", ["\u{e9}"], ["e\u{301}"]),
    (.notEqual, 1, [2, "1", true, [1], .double(.nan)], [nil, .null, 1, 1.0]),
    (.notEqual, nil, [0, false, .double(.nan)], [nil, .null]),
    (.notEqual, .double(.nan), [1], [.null, .double(.nan), nil]),
    (.lessThan, 2, [1, 1.5, .double(.nan), .double(-.infinity)], [2, 2.0, 3, "1", nil, .null]),
    (
      .lessThanOrEqual, .integer(1 << 53), [.integer(1 << 53), .double(0x1p53)],
      [.integer(1 << 53 + 1)]
    ),
    (.greaterThan, .double(0x1p53), [.integer(1 << 53 + 1)], [.integer(1 << 53), "z"]),
    (.greaterThanOrEqual, "b", ["b", "c", "\u{10000}"], ["a", .bytes([255]), nil]),
    (
      .greaterThan, .timestamp(.zero), [.timestamp(Writes.time(1))],
      [.serverTimestamp(written: Writes.time(9), previous: nil)]
    ),
    (.in, [1, "a"], [1, 1.0, "a"], [2, nil, .null, [1, "a"]]),
    (.in, [[1]], [[1]], [1]),
    (.notIn, [1, "a"], [2, "b", [1]], [1, 1.0, "a", .null, nil]),
    (.notIn, [1, nil], [], [1, 2, .null, nil]),
    (.notIn, [.double(.nan)], [1], [.double(.nan)]),
    (.arrayContains, 1, [[1], [2, 1.0]], [1, [], [[1]], .vector([1]), nil]),
    (.arrayContains, ["x": 1], [[["x": 1]]], [["x": 1]]),
    (.arrayContainsAny, [1, 2], [[3, 2], [1.0]], [[3], 1, [], nil]),
  ]

  @Test(arguments: 0..<22)
  func `what each operator matches`(number: Int) {
    let (test, value, matching, others) = Self.matches[number]
    let filter = FieldFilter(Writes.field("f"), test, value)
    for value in matching { #expect(filter.matches(Self.document(value)), "\(filter): \(value)") }
    for value in others {
      #expect(!filter.matches(Self.document(value)), "\(filter): \(String(describing: value))")
    }
    #expect(Self.matches.count == 22)
  }

  @Test func `documents by their ids`() throws {
    let rooms = DocumentQuery(.collection(try CollectionPath("c")), in: Writes.database)
    let documents = ["__id7__", "__id12__", "a", "b", "c"].map {
      Document(Writes.path("c/\($0)"), .found([:]))
    }
    func ids(_ test: FieldFilter.Operator, _ value: DocumentValue) throws -> [String] {
      try rooms.filtered(.field(.documentID, test, value)).evaluate(documents).map(\.path.id)
    }
    #expect(try ids(.equal, "b") == ["b"])
    #expect(try ids(.greaterThan, "a") == ["b", "c"])
    #expect(try ids(.lessThanOrEqual, "__id12__") == ["__id7__", "__id12__"])
    #expect(try ids(.in, ["c", "a", "x"]) == ["a", "c"])
    #expect(try ids(.notIn, ["c", "a"]) == ["__id7__", "__id12__", "b"])
    #expect(try ids(.notEqual, "a").count == 4)
    let group = DocumentQuery(.group("c"), in: Writes.database)
    #expect(
      try group.filtered(.field(.documentID, .equal, "c/b")).evaluate(documents).map(\.path.id)
        == ["b"])
  }

  @Test func `documents that do not exist are not found`() throws {
    let query = DocumentQuery(.collection(try CollectionPath("c")), in: Writes.database)
    #expect(query.evaluate([Writes.missing, Writes.unseen, Writes.unknown]).isEmpty)
    #expect(query.evaluate([Writes.found([:])]).count == 1)
  }
}
