import ConiferDocument
import Testing

@Suite struct `Transforms` {
  private static func applied(
    _ operation: FieldTransform.Operation, to value: DocumentValue?
  ) -> DocumentValue {
    operation.applied(to: value, written: Writes.time(9))
  }

  static let increments: [(DocumentValue?, Number, DocumentValue)] = [
    (nil, 1, 1), (nil, 1.5, 1.5), ("text", 2, 2), (.null, 2.0, 2.0), (1, 2, 3), (1, 2.0, 3.0),
    (1.5, 2, 3.5), (.integer(.max), 1, .integer(.max)), (.integer(.max - 1), 5, .integer(.max)),
    (.integer(.min), -1, .integer(.min)), (.integer(.min), .integer(.min), .integer(.min)),
    (.integer(.max), -1, .integer(.max - 1)), (.integer(.max), 1.0, .double(0x1p63)),
    (.double(.nan), 1, .double(.nan)),
    (.double(.greatestFiniteMagnitude), .double(.greatestFiniteMagnitude), .double(.infinity)),
    (.serverTimestamp(written: .zero, previous: 5), 1, 1),
  ]

  @Test(arguments: increments)
  func `an increment keeps to 64 bits, and a double makes a double`(
    value: DocumentValue?, operand: Number, result: DocumentValue
  ) {
    #expect(Self.applied(.increment(operand), to: value) == result)
  }

  static let extremes: [(DocumentValue?, Number, DocumentValue, DocumentValue)] = [
    (nil, 1, 1, 1), ("text", 1.5, 1.5, 1.5), (1, 2, 1, 2), (2, 1, 1, 2), (1, 2.0, 1.0, 2.0),
    (1.5, 1, 1.0, 1.5), (1, 1, 1, 1), (1, 1.0, 1.0, 1.0), (0.0, -0.0, 0.0, 0.0),
    (-0.0, 0.0, -0.0, -0.0), (1, .double(.nan), .double(.nan), .double(.nan)),
    (.double(.nan), 1, .double(.nan), .double(.nan)),
    (.integer(.max), .integer(.min), .integer(.min), .integer(.max)),
    (.integer(1 << 53 + 1), .integer(1 << 53), .integer(1 << 53), .integer(1 << 53 + 1)),
  ]

  @Test(arguments: extremes)
  func `minimum and maximum are integers when both are`(
    value: DocumentValue?, operand: Number, minimum: DocumentValue, maximum: DocumentValue
  ) {
    #expect(Self.applied(.minimum(operand), to: value) == minimum)
    #expect(Self.applied(.maximum(operand), to: value) == maximum)
  }

  static let arrays: [(DocumentValue?, [DocumentValue], DocumentValue, DocumentValue)] = [
    (nil, [1, 1, 2], [1, 2], []), ("text", [1], [1], []), ([1, 2], [2, 3], [1, 2, 3], [1]),
    ([1, 1, 2], [1], [1, 1, 2], [2]), ([1], [1.0], [1, 1.0], [1]),
    ([0.0], [-0.0], [0.0, -0.0], [0.0]),
    ([.double(.nan)], [.double(-.nan)], [.double(.nan)], []),
    ([["a": 1]], [["a": 1]], [["a": 1]], []),
    (["\u{e9}"], ["e\u{301}"], ["\u{e9}", "e\u{301}"], ["\u{e9}"]), ([1, 2], [], [1, 2], [1, 2]),
  ]

  @Test(arguments: arrays)
  func `elements are added once and removed all, by strict equality`(
    value: DocumentValue?, elements: [DocumentValue], union: DocumentValue, rest: DocumentValue
  ) {
    #expect(Self.applied(.arrayUnion(elements), to: value) == union)
    #expect(Self.applied(.arrayRemove(elements), to: value) == rest)
  }

  /// Few values are compared with each, many are looked up.
  @Test(arguments: arrays)
  func `many elements are added and removed as few are`(
    value: DocumentValue?, elements: [DocumentValue], union: DocumentValue, rest: DocumentValue
  ) {
    let more = (0..<20).map { DocumentValue.string("another \($0)") }
    let all = union.elements + more
    #expect(Self.applied(.arrayUnion(elements + more), to: value) == .array(all))
    #expect(Self.applied(.arrayRemove(more + elements), to: value) == rest)
  }

  @Test(.timeLimit(.minutes(10)))
  func `the cost of adding and removing many elements grows with their number alone`() {
    let count: Int64 = 50_000
    let array = DocumentValue.array((0..<count).map { .integer($0) })
    let others = (0..<count).map { DocumentValue.integer($0 + count / 2) }
    let union = Self.applied(.arrayUnion(others), to: array)
    #expect(union == .array((0..<count * 3 / 2).map { .integer($0) }))
    let rest = Self.applied(.arrayRemove(others), to: array)
    #expect(rest == .array((0..<count / 2).map { .integer($0) }))
  }

  @Test func `a pending server timestamp keeps the last real value`() {
    let first = FieldTransform.Operation.serverTimestamp.applied(to: 5, written: Writes.time(1))
    #expect(first == .serverTimestamp(written: Writes.time(1), previous: 5))
    let second = FieldTransform.Operation.serverTimestamp.applied(
      to: first, written: Writes.time(2))
    #expect(second == .serverTimestamp(written: Writes.time(2), previous: 5))
    let fresh = FieldTransform.Operation.serverTimestamp.applied(to: nil, written: Writes.time(1))
    #expect(fresh == .serverTimestamp(written: Writes.time(1), previous: nil))
  }

  @Test func `readers choose what stands for a pending server timestamp`() {
    let time = Writes.time(1)
    let fields: MapValue = [
      "a": .serverTimestamp(written: time, previous: "old"),
      "b": ["c": .serverTimestamp(written: time, previous: nil)], "d": 1,
    ]
    #expect(fields.resolved(.none) == ["a": nil, "b": ["c": nil], "d": 1])
    #expect(
      fields.resolved(.estimate) == ["a": .timestamp(time), "b": ["c": .timestamp(time)], "d": 1])
    #expect(fields.resolved(.previous) == ["a": "old", "b": ["c": nil], "d": 1])
  }

  @Test func `the server's result counts, but for arrays`() {
    #expect(FieldTransform.Operation.increment(1).acknowledged(on: 5, result: 9) == 9)
    #expect(
      FieldTransform.Operation.serverTimestamp.acknowledged(
        on: nil, result: .timestamp(Writes.time(3))) == .timestamp(Writes.time(3)))
    #expect(FieldTransform.Operation.arrayUnion([2]).acknowledged(on: [1], result: nil) == [1, 2])
    #expect(FieldTransform.Operation.arrayRemove([1]).acknowledged(on: [1], result: nil) == [])
  }
}

extension DocumentValue {
  fileprivate var elements: [DocumentValue] {
    if case .array(let elements) = self { elements } else { [] }
  }
}
