import ConiferDocument
import TestSupport
import Testing

@Suite struct `Normal form of queries` {
  private static let rooms = try? DocumentQuery(
    .collection(CollectionPath("rooms")), in: Writes.database)

  private static func query() throws -> DocumentQuery { try #require(rooms) }

  private static func filter(
    _ field: String, _ test: FieldFilter.Operator = .equal, _ value: DocumentValue = 1
  ) -> Filter {
    .field(Writes.field(field), test, value)
  }

  private static func orders(_ query: DocumentQuery) -> [String] {
    query.orders.map { "\($0.field) \($0.direction)" }
  }

  @Test func `inequalities and the document follow the orders that were asked for`() throws {
    let query = try Self.query()
    #expect(Self.orders(query) == ["__name__ ascending"])
    let filtered = try query.filtered(
      .or([Self.filter("b", .greaterThan), Self.filter("z"), Self.filter("a", .notEqual)]))
    #expect(Self.orders(filtered) == ["a ascending", "b ascending", "__name__ ascending"])
    #expect(
      Self.orders(try filtered.ordered(by: Writes.field("x"), .descending))
        == ["x descending", "a descending", "b descending", "__name__ descending"])
    #expect(
      Self.orders(
        try filtered.ordered(by: Writes.field("b"), .descending).ordered(by: Writes.field("c")))
        == ["b descending", "c ascending", "a ascending", "__name__ ascending"])
    #expect(
      Self.orders(try query.ordered(by: .documentID, .descending)) == ["__name__ descending"])
    #expect(
      Self.orders(try query.filtered(.field(.documentID, .greaterThan, "a"))) == [
        "__name__ ascending"
      ])
  }

  @Test func `filters are joined, unwrapped and sorted`() throws {
    let (a, b, c) = (Self.filter("a"), Self.filter("b"), Self.filter("c"))
    #expect(Filter.and([]).normalized == nil)
    #expect(Filter.or([.and([]), .or([])]).normalized == nil)
    #expect(Filter.and([.or([a])]).normalized == a)
    #expect(Filter.and([b, .and([a, .and([c])])]).normalized == .and([a, b, c]))
    #expect(Filter.or([b, .or([a, a])]).normalized == .or([a, b]))
    #expect(Filter.and([b, .or([c, a])]).normalized == .and([b, .or([a, c])]))
    #expect(Filter.or([b, .and([c, a]), .and([])]).normalized == .or([.and([a, c]), b]))
    let one = try Self.query().filtered(a).filtered(b)
    let other = try Self.query().filtered(.and([.or([b]), a]))
    #expect(one.target == other.target)
    #expect(one.canonical == other.canonical)
  }

  @Test func `a query for the last has the target of its mirror image`() throws {
    let (a, b) = (Writes.field("a"), Writes.field("b"))
    let last = try Self.query().ordered(by: a).ordered(by: b, .descending)
      .starting(at: [1]).ending(before: [5, 2]).limited(toLast: 3)
    let first = try Self.query().ordered(by: a, .descending).ordered(by: b)
      .starting(after: [5, 2]).ending(at: [1]).limited(to: 3)
    // The document's direction is the last one's, so both write the same orders out.
    #expect(last.target == first.target)
    #expect(last.canonical != first.canonical)
    #expect(last.canonical.hasSuffix("|lt:l"))
    #expect(first.target.limit == 3)
  }

  @Test func `the text of queries`() throws {
    let query = try Self.query()
    #expect(query.canonical == "rooms|f:|ob:__name__asc|lt:f")
    #expect(
      try query.filtered(Self.filter("n", .greaterThan, 1.0)).filtered(
        Self.filter("a.b", .in, ["x", nil])
      )
      .ordered(by: Writes.field("n"), .descending).starting(at: [5]).ending(before: [2])
      .limited(to: 3).canonical
        == #"rooms|f:a.b in ["x",null],n > 1.0|ob:ndesc,__name__desc|l:3|lb:b:5|ub:b:2|lt:f"#)
    let group = DocumentQuery(.group("a|b"), in: Writes.database)
    #expect(group.canonical == #"|cg:a\|b|f:|ob:__name__asc|lt:f"#)
    let room = DocumentQuery(.document(Writes.path("rooms/eros")), in: Writes.database)
    #expect(room.canonical == "rooms/eros|f:|ob:__name__asc|lt:f")
    #expect(room.target.matchesAll)
    #expect(
      try query.filtered(.or([Self.filter("b"), .and([Self.filter("a"), Self.filter("c")])]))
        .canonical
        == "rooms|f:or(and(a == 1,c == 1),b == 1)|ob:__name__asc|lt:f")
  }

  @Test(arguments: Seeded.seeds(4))
  func `targets are equal when their texts are`(seed: UInt64) {
    var random = Seeded(seed)
    var all: [[UInt8]: DocumentTarget] = [:]
    for _ in 0..<800 {
      let query = RandomQueries.query(&random, over: RandomQueries.documents(&random))
      let target = query.target
      let text = Array(target.canonical.utf8)
      if let other = all[text] { #expect(other == target, "seed \(seed): \(target.canonical)") }
      all[text] = target
    }
    #expect(Set(all.values).count == all.count, "seed \(seed)")
    #expect(all.count > 200)
  }

  @Test func `values that differ have different texts`() throws {
    let values: [DocumentValue] = [
      nil, true, "true", 1, 1.0, 1.5, 2.0, "1", 0.0, -0.0, .double(.nan), .double(.infinity), [1],
      .vector([1]),
      ["a": 1], "a", ["a"], "\"", "\\", "\\\"", "a,b", ["a", "b"], ["a,b"], .bytes([1]),
      .bytes([1, 2]),
      .timestamp(.zero), "time(0,0)", "\u{e9}", "e\u{301}",
    ]
    let texts = try values.map {
      Array(try Self.query().filtered(Self.filter("f", .equal, $0)).canonical.utf8)
    }
    #expect(Set(texts).count == values.count)
  }
}
