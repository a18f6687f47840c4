import ConiferQuery
import ConiferTree
import Testing

@Suite struct `Building queries` {
  static func refuses(
    _ build: () throws -> QuerySpec, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: TreeError.self, sourceLocation: sourceLocation) { try build() }
    #expect(error?.code == .invalidQuery, sourceLocation: sourceLocation)
  }

  let all = QuerySpec.default

  @Test func `the order may be set once, before or after a range`() throws {
    let before = try all.ordered(byChild: "a/b").starting(at: 1)
    let after = try all.starting(at: 1).ordered(byChild: "a/b")
    #expect(before == after)
    #expect(before.index == .child("a/b"))
    Self.refuses { try all.ordered(by: .key).ordered(by: .value) }
    Self.refuses { try all.ordered(by: .priority).ordered(by: .priority) }
  }

  @Test(arguments: [
    "", "/", "$key", ".key", "$priority", ".priority", "$value", ".value", "a/.b", "a[0]", "a#",
  ])
  func `a child path must name a child`(path: String) {
    Self.refuses { try all.ordered(byChild: path) }
  }

  @Test func `a start may be set once`() {
    let starts: [(QuerySpec) throws -> QuerySpec] = [
      { try $0.starting(at: 1) }, { try $0.starting(after: 1) }, { try $0.equal(to: 1) },
    ]
    for first in starts { for second in starts { Self.refuses { try second(first(all)) } } }
  }

  @Test func `an end may be set once`() {
    let ends: [(QuerySpec) throws -> QuerySpec] = [
      { try $0.ending(at: 1) }, { try $0.ending(before: 1) }, { try $0.equal(to: 1) },
    ]
    for first in ends { for second in ends { Self.refuses { try second(first(all)) } } }
  }

  @Test func `one limit may be set, between 1 and 2^31 - 1`() throws {
    for count in [0, -1, 1 << 31] {
      Self.refuses { try all.limited(toFirst: count) }
      Self.refuses { try all.limited(toLast: count) }
    }
    #expect(try all.limited(toFirst: Int(Int32.max)).limit?.count == Int(Int32.max))
    Self.refuses { try all.limited(toFirst: 1).limited(toFirst: 1) }
    Self.refuses { try all.limited(toFirst: 1).limited(toLast: 1) }
    #expect(try all.starting(at: 1).ending(at: 2).limited(toLast: 3).limit?.side == .last)
  }

  @Test func `bounds by key are strings without a child key`() throws {
    let byKey = try all.ordered(by: .key)
    #expect(try byKey.starting(at: "a").ending(before: "b").start?.value == "a")
    for value in [nil, 1, 1.5, true] as [Leaf?] {
      Self.refuses { try byKey.starting(at: value) }
      Self.refuses { try byKey.ending(before: value) }
      Self.refuses { try byKey.equal(to: value) }
      Self.refuses { try all.starting(at: value).ordered(by: .key) }
    }
    Self.refuses { try byKey.starting(at: "a", key: "b") }
    Self.refuses { try byKey.ending(at: "a", key: "b") }
    Self.refuses { try all.ending(at: "a", key: "b").ordered(by: .key) }
  }

  @Test func `bounds by priority are priorities`() throws {
    for value in [nil, 1, 1.5, "a"] as [Leaf?] {
      #expect(try all.starting(at: value, key: "k").start?.key == "k")
    }
    Self.refuses { try all.starting(at: true) }
    Self.refuses { try all.ending(at: false) }
    Self.refuses { try all.ordered(by: .priority).equal(to: true) }
    #expect(try all.ordered(by: .value).equal(to: true).end?.value == true)
  }

  @Test func `no bound is a server value, a number that is not finite, or has an invalid key`()
    throws
  {
    let byValue = try all.ordered(by: .value)
    Self.refuses { try byValue.starting(at: .serverValue(.timestamp)) }
    Self.refuses { try byValue.ending(at: .double(.infinity)) }
    Self.refuses { try byValue.ending(at: .double(.nan)) }
    Self.refuses { try byValue.starting(at: 1, key: "a.b") }
    Self.refuses { try byValue.ending(before: 1, key: "") }
  }

  @Test func `a query knows whether it loads all data and whether it is the default`() throws {
    #expect(all.isDefault && all.loadsAllData)
    let ordered = try all.ordered(by: .value)
    #expect(!ordered.isDefault && ordered.loadsAllData)
    #expect(ordered.normalized == .default)
    let limited = try ordered.limited(toLast: 2)
    #expect(!limited.loadsAllData && limited.normalized == limited)
    #expect(try all.ordered(by: .priority) == .default)
    #expect(try all.ordered(by: .priority).isDefault)
  }
}
