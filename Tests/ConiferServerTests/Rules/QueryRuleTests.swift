import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferServer

@Suite struct QueryRuleTests {
  private static func spec(
    _ build: (QuerySpec) throws(TreeError) -> QuerySpec
  ) -> QuerySpec { .make(build) }

  private let rules: SecurityRules

  init() throws {
    rules = try ConiferServerTests.rules(
      """
      {"items": {".read": "query.orderByChild == 'owner' && query.equalTo == auth.uid"},
       "first": {".read": "query.limitToFirst <= 2"}, "last": {".read": "query.limitToLast <= 2"},
       "page": {".read": "query.orderByKey && query.limitToFirst <= 1000"},
       "bykey": {".read": "query.orderByKey == true"}, "byvalue": {".read": "query.orderByValue"},
       "bypriority": {".read": "query.orderByPriority"},
       "range": {".read": "query.startAt == 'b' && query.endAt == 'm'"},
       "noorder": {".read": "query.orderByChild == null"}, "zip": {".read": "query.orderByChild == 'address/zip'"},
       "nolimit": {".read": "query.limitToFirst == null && query.limitToLast == null"},
       "noequal": {".read": "query.equalTo == null"},
       "write": {".write": "query.limitToFirst == null && !query.orderByKey"}}
      """)
  }

  @Test func `Queries of one's own are granted`() {
    func mine(_ child: String, _ uid: String) -> QuerySpec {
      .make { (spec) throws(TreeError) in try spec.ordered(byChild: child).equal(to: .string(uid)) }
    }
    #expect(rules.reads("items", mine("owner", "ada"), as: "ada"))
    #expect(!rules.reads("items", mine("owner", "bob"), as: "ada"))
    #expect(!rules.reads("items", mine("name", "ada"), as: "ada"))
    #expect(!rules.reads("items", as: "ada"))
    #expect(!rules.reads("items", mine("owner", "ada")))
  }

  @Test func `Limits are numbers, or null`() {
    let (two, three) = (QuerySpec.first(2), QuerySpec.first(3))
    let last = QuerySpec.make { (spec) throws(TreeError) in try spec.limited(toLast: 2) }
    #expect(rules.reads("first", two) && !rules.reads("first", three))
    #expect(!rules.reads("first") && !rules.reads("first", last))
    #expect(rules.reads("last", last) && !rules.reads("last", two))
    #expect(rules.reads("nolimit") && !rules.reads("nolimit", two) && !rules.reads("nolimit", last))
  }

  @Test func `The order is known`() {
    let byKey = QuerySpec.make { (spec) throws(TreeError) in try spec.ordered(by: .key) }
    let byZip = QuerySpec.make { (spec) throws(TreeError) in
      try spec.ordered(byChild: "address/zip")
    }
    #expect(rules.reads("bykey", byKey) && rules.reads("bykey") && !rules.reads("bykey", .byValue))
    #expect(rules.reads("byvalue", .byValue) && !rules.reads("byvalue"))
    #expect(rules.reads("bypriority", .first(1)) && !rules.reads("bypriority", byKey))
    #expect(!rules.reads("bypriority"))
    #expect(rules.reads("noorder") && !rules.reads("noorder", byZip) && rules.reads("zip", byZip))
    // A query without an order counts as one by key, as the documentation has it.
    #expect(
      rules.reads("page", .first(1000)) && !rules.reads("page", .first(1001))
        && !rules.reads("page"))
  }

  @Test func `Bounds are known`() {
    func range(_ start: String, _ end: String) -> QuerySpec {
      .make { (spec) throws(TreeError) in
        try spec.ordered(by: .key).starting(at: .string(start)).ending(at: .string(end))
      }
    }
    #expect(rules.reads("range", range("b", "m")) && !rules.reads("range", range("a", "m")))
    #expect(rules.reads("noequal", range("b", "m")) && !rules.reads("noequal", range("b", "b")))
  }

  @Test func `Writes have no query`() {
    #expect(rules.writes("write", 1))
  }
}
