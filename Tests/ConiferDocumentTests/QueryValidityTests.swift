import Testing

@testable import ConiferDocument

@Suite struct `Validity of queries` {
  private typealias Q = DocumentQuery

  private static func query(_ path: String = "rooms") throws -> DocumentQuery {
    DocumentQuery(.collection(try CollectionPath(path)), in: Writes.database)
  }

  private static func filter(
    _ field: String, _ test: FieldFilter.Operator, _ value: DocumentValue = 1
  ) -> Filter {
    .field(Writes.field(field), test, value)
  }

  private static func filters(_ filters: [Filter]) throws -> DocumentQuery {
    var query = try query()
    for filter in filters { query = try query.filtered(filter) }
    return query
  }

  private static func list(_ count: Int) -> DocumentValue {
    .array((0..<count).map { .integer(Int64($0)) })
  }

  /// What is asked, a word of the message, and the query.
  static let refused: [(String, @Sendable () throws -> DocumentQuery)] = [
    ("'!='", { try filters([filter("a", .notEqual), filter("b", .notEqual)]) }),
    ("'!='", { try filters([.or([filter("a", .notEqual), filter("a", .notEqual, 2)])]) }),
    ("'not-in'", { try filters([filter("a", .notIn, [1]), filter("b", .notIn, [1])]) }),
    ("'not-in'", { try filters([filter("a", .notIn, [1]), filter("b", .notEqual)]) }),
    ("'not-in'", { try filters([filter("b", .notEqual), filter("a", .notIn, [1])]) }),
    ("'not-in'", { try filters([filter("a", .notIn, [1]), filter("b", .in, [1])]) }),
    ("'not-in'", { try filters([filter("a", .notIn, [1]), filter("b", .arrayContainsAny, [1])]) }),
    ("'or'", { try filters([.or([filter("a", .notIn, [1]), filter("b", .equal)])]) }),
    ("array", { try filters([filter("a", .in, [])]) }),
    ("array", { try filters([filter("a", .notIn, [])]) }),
    ("array", { try filters([filter("a", .arrayContainsAny, [])]) }),
    ("array", { try filters([filter("a", .in, 1)]) }),
    ("10", { try filters([filter("a", .notIn, list(11))]) }),
    ("30", { try filters([filter("a", .in, list(31))]) }),
    ("30", { try filters([filter("a", .in, list(6)), filter("b", .in, list(6))]) }),
    ("30", { try filters([.or((0..<31).map { filter("f\($0)", .equal) })]) }),
    ("30", { try filters((0..<64).map { filter("f\($0)", .in, list(2)) }) }),
    (
      "'array-contains'",
      { try filters([filter("a", .arrayContains), filter("b", .arrayContains)]) }
    ),
    (
      "'array-contains'",
      { try filters([filter("a", .arrayContains), filter("a", .arrayContainsAny, [1])]) }
    ),
    ("11", { try filters((0..<11).map { filter("f\($0)", .greaterThan) }) }),
    ("101", { try filters((0..<101).map { filter("f\($0)", .equal) }) }),
    ("'__name__'", { try filters([filter("__name__", .equal, 1)]) }),
    ("'__name__'", { try filters([filter("__name__", .equal, "")]) }),
    ("'__name__'", { try filters([filter("__name__", .equal, "a/b")]) }),
    ("'__name__'", { try filters([filter("__name__", .in, ["a", 1])]) }),
    ("'__name__'", { try filters([filter("__name__", .arrayContains, "a")]) }),
    ("'__name__'", { try filters([filter("__name__", .arrayContainsAny, ["a"])]) }),
    (
      "'__name__'",
      {
        let other = DatabaseID(project: "other")
        let name = DocumentName(Writes.path(), in: other)
        return try filters([filter("__name__", .equal, .reference(name))])
      }
    ),
    (
      "'__name__'",
      {
        try DocumentQuery(.group("rooms"), in: Writes.database)
          .filtered(filter("__name__", .equal, "eros"))
      }
    ),
    (
      "server timestamp",
      { try filters([filter("a", .equal, .serverTimestamp(written: .zero, previous: nil))]) }
    ),
    (
      "server timestamp",
      { try filters([filter("a", .in, [["x": .serverTimestamp(written: .zero, previous: nil)]])]) }
    ),
    ("array", { try filters([filter("a", .equal, [[1]])]) }),
    ("array", { try filters([filter("a", .lessThan, ["x": [1, [:], [2]]])]) }),
    ("array", { try filters([filter("a", .in, [[[1]]])]) }),
    ("array", { try query().ordered(by: Writes.field("a")).starting(at: [[[1]]]) }),
    ("'__x__'", { try filters([filter("__x__", .equal)]) }),
    ("'a.__x__.b'", { try filters([.or([filter("a", .equal), filter("a.__x__.b", .equal)])]) }),
    ("'__x__'", { try query().ordered(by: Writes.field("__x__")) }),
    (
      "'a'",
      { try query().ordered(by: Writes.field("a")).ordered(by: Writes.field("a"), .descending) }
    ),
    ("'__name__'", { try query().ordered(by: .documentID).ordered(by: .documentID) }),
    (
      "'a'",
      {
        let orders = [Q.Order(Writes.field("a")), Q.Order(Writes.field("a")), Q.Order(.documentID)]
        let target = DocumentTarget(
          source: try query().source, filter: nil, orders: orders, limit: nil, start: nil, end: nil)
        return try DocumentQuery(target, in: Writes.database)
      }
    ),
    ("0", { try query().limited(to: 0) }),
    ("-1", { try query().limited(toLast: -1) }),
    ("orders", { try query().starting(at: [1]) }),
    ("orders", { try query().ordered(by: Writes.field("a")).ending(at: [1, 2]) }),
    ("orders", { try query().ordered(by: Writes.field("a")).ending(at: []) }),
    (
      "order",
      {
        try query().ordered(by: Writes.field("a")).starting(at: [1]).ordered(by: Writes.field("b"))
      }
    ),
    ("order", { try query().starting(at: Writes.found([:])).ordered(by: Writes.field("b")) }),
    ("'__name__'", { try query().ordered(by: .documentID).starting(at: [1]) }),
    ("'__name__'", { try query().ordered(by: .documentID).starting(at: ["a/b"]) }),
    ("not found", { try query().starting(at: Writes.missing) }),
    (
      "no field 'a'", { try query().ordered(by: Writes.field("a")).starting(at: Writes.found([:])) }
    ),
    (
      "server timestamp",
      {
        let pending = DocumentValue.serverTimestamp(written: .zero, previous: 1)
        return try query().ordered(by: Writes.field("a")).starting(at: Writes.found(["a": pending]))
      }
    ),
    (
      "adds an order",
      { try query().starting(at: Writes.found([:])).filtered(filter("a", .greaterThan)) }
    ),
    (
      "last documents",
      {
        let query = try Self.query().limited(toLast: 2)
        try query.validate()
        return query
      }
    ),
  ]

  @Test(arguments: 0..<55)
  func `is refused with a message that says why`(number: Int) throws {
    #expect(Self.refused.count == 55)
    let (word, make) = Self.refused[number]
    do {
      let query = try make()
      Issue.record("\(query.canonical) was accepted")
    } catch let error as DocumentError {
      #expect(error.code == .invalidQuery)
      #expect(error.message.contains(word), "\(error)")
      #expect(error.message.contains(". "), "a remedy: \(error)")
    }
  }

  /// At the edge of each limit, and what looks like the above but is allowed.
  static let accepted: [@Sendable () throws -> DocumentQuery] = [
    { try filters([filter("a", .notEqual), filter("b", .greaterThan), filter("c", .lessThan)]) },
    {
      try filters([
        filter("a", .in, [1]), filter("b", .in, [1]), filter("c", .arrayContainsAny, [1]),
      ])
    },
    { try filters([filter("a", .notIn, list(10))]) },
    { try filters([filter("a", .in, list(30))]) },
    { try filters([filter("a", .in, list(5)), filter("b", .in, list(6))]) },
    { try filters((0..<10).map { filter("f\($0)", .greaterThan) }) },
    { try filters((0..<100).map { filter("f\($0)", .equal) }) },
    { try filters([.or([filter("a", .arrayContains), filter("b", .arrayContains)])]) },
    { try filters([filter("a", .equal, nil), filter("b", .notEqual, .double(.nan))]) },
    { try filters([.or([]), .and([])]) },
    { try filters([filter("a", .notIn, [1]), .or([filter("b", .equal)])]) },
    { try filters([filter("a", .equal, [1, ["x": [2]]]), filter("b", .in, [[1], [2]])]) },
    // The service takes any value for any operator.
    { try filters([filter("a", .lessThan, nil), filter("a", .greaterThan, .double(.nan))]) },
    { try query().ordered(by: Writes.field("a")).ordered(by: Writes.field("a.b")) },
    { try query().limited(toLast: 1).ordered(by: Writes.field("a")) },
    {
      try query().ordered(by: Writes.field("a")).starting(at: [1]).filtered(
        filter("b", .greaterThan))
    },
    { try query().starting(at: Writes.found([:])).filtered(filter("a", .equal)) },
    { try query().ordered(by: .documentID).starting(at: ["a"]) },
    {
      try DocumentQuery(.group("rooms"), in: Writes.database).ordered(by: .documentID)
        .starting(at: ["rooms/eros"])
    },
  ]

  @Test(arguments: 0..<19)
  func `is accepted`(number: Int) throws {
    #expect(Self.accepted.count == 19)
    try Self.accepted[number]().validate()
  }

  private static func target(
    _ filter: Filter? = nil, _ orders: [Q.Order] = [Q.Order(.documentID)],
    start: [DocumentValue]? = nil, end: [DocumentValue]? = nil
  ) throws -> DocumentTarget {
    DocumentTarget(
      source: try query().source, filter: filter, orders: orders, limit: nil,
      start: start.map { Q.Cursor(values: $0, isInclusive: true) },
      end: end.map { Q.Cursor(values: $0, isInclusive: false) })
  }

  private static let pending = DocumentValue.serverTimestamp(written: .zero, previous: nil)
  private static let byA = [Q.Order(Writes.field("a")), Q.Order(.documentID)]

  /// What others may send: a word of the message, and the target.
  static let foreign: [(String, @Sendable () throws -> DocumentTarget)] = [
    ("101", { try target(.and((0..<101).map { filter("f\($0)", .equal) })) }),
    (
      "101",
      {
        let orders = (0..<51).map { Q.Order(Writes.field("o\($0)")) } + [Q.Order(.documentID)]
        return try target(.and((0..<50).map { filter("f\($0)", .equal) }), orders)
      }
    ),
    ("array", { try target(nil, byA, start: [[[1]]]) }),
    ("array", { try target(nil, byA, end: [["x": [[1]]], "d"]) }),
    ("server timestamp", { try target(nil, byA, start: [pending]) }),
    ("server timestamp", { try target(nil, byA, end: [["x": pending]]) }),
    ("'__name__'", { try target(nil, byA, start: [1, 1]) }),
    ("'__name__'", { try target(nil, byA, end: [1, "a/b"]) }),
    (
      "'__name__'",
      {
        let other = DocumentName(Writes.path(), in: DatabaseID(project: "other"))
        return try target(start: [.reference(other)])
      }
    ),
    ("values", { try target(start: []) }), ("values", { try target(nil, byA, end: [1, "d", 1]) }),
  ]

  @Test(arguments: 0..<11)
  func `is refused as a target too`(number: Int) throws {
    #expect(Self.foreign.count == 11)
    let (word, make) = Self.foreign[number]
    do {
      let query = try DocumentQuery(make(), in: Writes.database)
      Issue.record("\(query.canonical) was accepted")
    } catch let error as DocumentError {
      #expect(error.code == .invalidQuery)
      #expect(error.message.contains(word), "\(error)")
      #expect(error.message.contains(". "), "a remedy: \(error)")
    }
  }

  /// A target states the orders that a query implies, and they do not count.
  @Test func `what an app may ask for is accepted as a target`() throws {
    let equal = (0..<89).map { Self.filter("f\($0)", .equal) }
    let compared = (0..<10).map { Self.filter("g\($0)", .greaterThan) }
    let full = try Self.filters(equal + compared)
    for query in [
      full, try full.ordered(by: Writes.field("h"), .descending),
      try full.ordered(by: Writes.field("g3"), .descending),
      try full.ordered(by: .documentID),
      try Self.filters((0..<100).map { Self.filter("f\($0)", .equal) }),
      try Self.query().ordered(by: Writes.field("a")).starting(at: [1]),
      try Self.query().ordered(by: Writes.field("a")).ending(at: Writes.found(["a": [1]])),
      try Self.query().ordered(by: .documentID).starting(after: ["d"]),
    ] {
      let again = try DocumentQuery(query.target, in: Writes.database)
      #expect(again.target == query.target, "\(query.canonical)")
    }
  }

  @Test func `times are cut to the microsecond, as those of fields are`() throws {
    func time(_ nanoseconds: Int32) throws -> DocumentValue {
      .timestamp(try Timestamp(seconds: 5, nanoseconds: nanoseconds))
    }
    let (fine, cut) = (try time(123_456_789), try time(123_456_000))
    let write = try Mutation.set(Writes.path("rooms/d"), [("t", .value(fine))], in: Writes.database)
    let document = write.applied(to: Document(Writes.path("rooms/d"), .missing), written: .zero)
    #expect(document.fields?["t"] == cut)
    let t = Writes.field("t")
    for (test, value) in [
      (.equal, fine), (.in, [1, fine]), (.lessThanOrEqual, fine), (.greaterThanOrEqual, fine),
    ] as [(FieldFilter.Operator, DocumentValue)] {
      #expect(try Self.filters([Self.filter("t", test, value)]).evaluate([document]) == [document])
    }
    for test in [FieldFilter.Operator.notEqual, .lessThan, .greaterThan] {
      #expect(try Self.filters([Self.filter("t", test, fine)]).evaluate([document]) == [])
    }
    let deep = try Self.filters([Self.filter("m", .equal, ["x": [fine, ["y": fine]]])])
    #expect(try deep == Self.filters([Self.filter("m", .equal, ["x": [cut, ["y": cut]]])]))
    let ordered = try Self.query().ordered(by: t)
    #expect(try ordered.starting(at: [fine]) == ordered.starting(at: [cut]))
    #expect(try ordered.starting(at: [fine]).ending(at: [fine]).evaluate([document]) == [document])
    #expect(try ordered.starting(after: [fine]).evaluate([document]) == [])
    let orders = [Q.Order(t), Q.Order(.documentID)]
    let foreign = try Self.target(
      Self.filter("t", .equal, fine), orders, start: [fine], end: [fine, "z"])
    #expect(try DocumentQuery(foreign, in: Writes.database).evaluate([document]) == [document])
  }

  @Test func `a collection below a document counts one more part`() throws {
    let equal = (0..<100).map { Self.filter("f\($0)", .equal) }
    var query = try Self.query("rooms/eros/messages")
    for filter in equal.prefix(99) { query = try query.filtered(filter) }
    #expect(throws: DocumentError.self) { try query.filtered(equal[99]) }
    #expect(throws: DocumentError.self) { try query.ordered(by: Writes.field("f")) }
  }
}
