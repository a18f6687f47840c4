import ConiferDocument
import Testing

@Suite struct `Aggregates` {
  private static func documents(_ values: [DocumentValue?]) -> [Document] {
    values.enumerated().map { number, value in
      Document(Writes.path("c/\(number)"), .found(value.map { ["n": $0] } ?? [:]))
    }
  }

  static let table: [([DocumentValue?], sum: DocumentValue, average: DocumentValue)] = [
    ([], 0, nil), ([nil, "text", .null, [1]], 0, nil), ([1, 2, nil, "3"], 3, 1.5),
    ([1, 2.0], 3.0, 1.5),
    ([.integer(.max), 1], .double(0x1p63), .double(0x1p62)),
    ([.integer(.max), 1, -1], .integer(.max), .double(0x1p63 / 3)),
    ([.integer(.min), .integer(.max)], -1, -0.5),
    ([.double(.nan), 1], .double(.nan), .double(.nan)),
    ([.double(.infinity), .double(-.infinity)], .double(.nan), .double(.nan)),
    ([.double(.infinity), 1], .double(.infinity), .double(.infinity)), ([0.5], 0.5, 0.5),
    ([-0.0], 0.0, 0.0),
  ]

  @Test(arguments: 0..<12)
  func `sums are integers unless they cannot be`(number: Int) throws {
    let (values, sum, average) = Self.table[number]
    let field = Writes.field("n")
    let results = try Aggregate.evaluate(
      [.sum(field), .average(field)], over: Self.documents(values))
    #expect(results == [sum, average])
    #expect(Self.table.count == 12)
  }

  @Test func `documents that lack a field of an aggregate do not count`() throws {
    let documents = Self.documents([1, nil, "text"]) + [Writes.missing]
    let field = Writes.field("n")
    #expect(try Aggregate.evaluate([.count], over: documents) == [3])
    #expect(try Aggregate.evaluate([.count, .sum(field)], over: documents) == [2, 1])
    #expect(
      try Aggregate.evaluate([.sum(field), .average(Writes.field("m"))], over: documents) == [
        0, nil,
      ])
  }

  @Test func `five at once, no more`() throws {
    let five = Array(repeating: Aggregate.count, count: 5)
    #expect(try Aggregate.evaluate(five, over: []) == [0, 0, 0, 0, 0])
    #expect(throws: DocumentError.self) { try Aggregate.evaluate(five + [.count], over: []) }
    #expect(throws: DocumentError.self) { try Aggregate.evaluate([], over: []) }
  }

  @Test(arguments: ["__name__", "__x__", "a.__x__"])
  func `a field that no document has is refused`(name: String) throws {
    let field = name == "__name__" ? FieldPath.documentID : Writes.field(name)
    for aggregate in [Aggregate.sum(field), .average(field)] {
      let refused = #expect(throws: DocumentError.self) {
        try Aggregate.evaluate([.count, aggregate], over: Self.documents([1]))
      }
      #expect(refused?.code == .invalidQuery)
      #expect(refused?.message.contains("'\(name)'") == true, "\(refused?.message ?? "")")
      #expect(refused?.message.contains(". ") == true, "a remedy")
    }
  }
}
