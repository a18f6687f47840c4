import ConiferDocument
import TestSupport
import Testing

@Suite struct `The order of values` {
  private static func timestamp(_ seconds: Int64, _ nanoseconds: Int32 = 0) -> Timestamp {
    (try? Timestamp(seconds: seconds, nanoseconds: nanoseconds)) ?? .zero
  }

  private static func reference(
    _ path: String, project: String = "p", database: String = "(default)"
  ) -> DocumentValue {
    let name = "projects/\(project)/databases/\(database)/documents/\(path)"
    guard let name = try? DocumentName(name) else { preconditionFailure("'\(path)' is no path") }
    return .reference(name)
  }

  private static func point(_ latitude: Double, _ longitude: Double) -> DocumentValue {
    guard let point = try? GeoPoint(latitude: latitude, longitude: longitude) else {
      preconditionFailure("no point")
    }
    return .geoPoint(point)
  }

  /// Groups of equal places, from the least to the greatest: the reference's table.
  static let ladder: [[DocumentValue]] = [
    [.null],
    [false], [true],
    [.double(.nan), .double(-.nan), .double(.signalingNaN)],
    [.double(-.infinity)], [.double(-.greatestFiniteMagnitude)],
    [.double((-0x1p63).nextDown)],
    [.integer(.min), .double(-0x1p63)], [.integer(.min + 1)],
    [.integer(-(1 << 53) - 1)], [.integer(-(1 << 53)), .double(-0x1p53)],
    [-1.5], [-1, -1.0], [-0.5], [.double(-.leastNonzeroMagnitude)],
    [0, 0.0, -0.0], [.double(.leastNonzeroMagnitude)], [0.5], [1, 1.0],
    [.double(Double(1).nextUp)], [1.5], [2],
    [.integer(1 << 53), .double(0x1p53)], [.integer(1 << 53 + 1)],
    [.integer(1 << 53 + 2), .double(0x1p53 + 2)],
    [.double(0x1p63.nextDown)], [.integer(.max)], [.double(0x1p63)], [.double(.infinity)],
    [.timestamp(timestamp(-62_135_596_800))], [.timestamp(timestamp(0))],
    [.timestamp(timestamp(0, 1))], [.timestamp(timestamp(253_402_300_799, 999_999_999))],
    [
      .serverTimestamp(written: timestamp(1), previous: nil),
      .serverTimestamp(written: timestamp(1), previous: 5),
    ],
    [.serverTimestamp(written: timestamp(2), previous: nil)],
    [""], ["\u{0}"], ["A"], ["a"], ["a\u{0}"], ["a "], ["aa"], ["e\u{301}"], ["\u{e9}"],
    ["\u{e000}"], ["\u{ffff}"], ["\u{10000}"],
    [.bytes([])], [.bytes([0])], [.bytes([0, 255])], [.bytes([1])], [.bytes([255])],
    [reference("a/b", project: "o")], [reference("c/__id-3__")], [reference("c/__id7__")],
    [reference("c/__id12__")], [reference("c/12")], [reference("c/7")], [reference("c/__id07__")],
    [reference("c/a")], [reference("c/a/c/a")], [reference("c/a!")], [reference("c/a\u{301}")],
    [reference("c/a", database: "a")], [reference("a/b", project: "p2")],
    [point(-90, 0)], [point(0, -180)], [point(0, 0), point(-0.0, 0)], [point(0, 1)], [point(1, 0)],
    [[]], [[nil]], [[1], [1.0]], [[1, 1]], [[2]], [["a"]],
    [.vector([])], [.vector([9])], [.vector([-1, 5])], [.vector([0, 0])], [.vector([0, 1])],
    [[:]], [["a": 1], ["a": 1.0]], [["a": 1, "b": 1]], [["a": 2]], [["b": 0]],
  ]

  @Test func `all of the reference's table are in their places`() {
    for (i, group) in Self.ladder.enumerated() {
      for a in group {
        for (j, other) in Self.ladder.enumerated() {
          for b in other {
            #expect(
              sign(DocumentValue.compare(a, b)) == sign(i - j), "\(a) against \(b)")
          }
        }
      }
    }
  }

  @Test(arguments: Seeded.seeds(4))
  func `random triples are in a total order`(seed: UInt64) {
    var random = Seeded(seed)
    for _ in 0..<3_000 {
      let a = RandomValues.value(&random)
      let b = random.chance(10) ? a : RandomValues.value(&random)
      let c = RandomValues.value(&random)
      let (ab, bc) = (DocumentValue.compare(a, b), DocumentValue.compare(b, c))
      let ac = DocumentValue.compare(a, c)
      #expect(sign(ab) == -sign(DocumentValue.compare(b, a)), "seed \(seed): \(a), \(b)")
      if ab <= 0, bc <= 0 {
        #expect(ac <= 0, "seed \(seed): \(a), \(b), \(c)")
        if ab < 0 || bc < 0 { #expect(ac < 0, "seed \(seed): \(a), \(b), \(c)") }
      }
      if a == b {
        #expect(ab == 0, "seed \(seed): \(a)")
        #expect(a.hashValue == b.hashValue, "seed \(seed): \(a)")
      }
    }
  }

  @Test(arguments: Seeded.seeds(4))
  func `random numbers are in the order of their exact values`(seed: UInt64) {
    var random = Seeded(seed)
    for _ in 0..<5_000 {
      guard let a = RandomValues.number(&random).number, let b = RandomValues.number(&random).number
      else { continue }
      #expect(
        sign(Number.compare(a, b)) == Self.exactOrder(a, b), "seed \(seed): \(a) against \(b)")
    }
  }

  /// The order by integers of 128 bits and halves, which knows nothing of how `compare` does it.
  private static func exactOrder(_ a: Number, _ b: Number) -> Int {
    func parts(_ number: Number) -> (place: Int, whole: Int128, rest: Double) {
      switch number {
      case .integer(let value): return (2, Int128(value), 0)
      case .double(let value) where value.isNaN: return (0, 0, 0)
      case .double(let value) where value < -0x1p100: return (1, 0, value)
      case .double(let value) where value > 0x1p100: return (3, 0, value)
      case .double(let value):
        let whole = value.rounded(.towardZero)
        return (2, Int128(whole), value - whole)
      }
    }
    let (x, y) = (parts(a), parts(b))
    if x.place != y.place { return x.place < y.place ? -1 : 1 }
    if x.whole != y.whole { return x.whole < y.whole ? -1 : 1 }
    return x.rest < y.rest ? -1 : x.rest > y.rest ? 1 : 0
  }
}

@Suite struct `Equality of values` {
  @Test func `kinds of numbers, signs of zero and forms of a text differ`() {
    let different: [(DocumentValue, DocumentValue)] = [
      (1, 1.0), (0.0, -0.0), ([1], [1.0]), (["a": 0.0], ["a": -0.0]), ("\u{e9}", "e\u{301}"),
      (["\u{e9}": 1], ["e\u{301}": 1]), (.vector([0]), .vector([-0.0])), (.bytes([]), ""),
      (.vector([1]), [1.0]), (nil, false), (.vector([1]), .vector([1, 1])),
    ]
    for (a, b) in different {
      #expect(a != b)
      #expect(Set([a, b]).count == 2)
    }
  }

  @Test func `all NaN are one value`() {
    #expect(DocumentValue.double(.nan) == .double(-.nan))
    #expect(
      Set<DocumentValue>([.double(.nan), .double(.signalingNaN), .vector([.nan])]).count == 2)
    #expect(DocumentValue.vector([.nan]) == .vector([-.nan]))
  }

  @Test func `a value takes 17 bytes`() {
    #expect(MemoryLayout<DocumentValue>.size <= 17)
  }
}

@Suite struct `Values that are refused` {
  @Test func `timestamps, places and texts are checked`() throws {
    for (seconds, nanoseconds) in [
      (-62_135_596_801, 0), (253_402_300_800, 0), (0, -1), (0, 1_000_000_000),
    ] as [(Int64, Int32)] {
      #expect(throws: DocumentError.self) {
        try Timestamp(seconds: seconds, nanoseconds: nanoseconds)
      }
    }
    for (latitude, longitude) in [
      (90.1, 0), (-90.1, 0), (0, 180.1), (0, -180.1), (.nan, 0), (0, .nan),
    ] {
      #expect(throws: DocumentError.self) {
        try GeoPoint(latitude: latitude, longitude: longitude)
      }
    }
    #expect(try DocumentValue(utf16: "a\u{10000}".utf16) == "a\u{10000}")
    #expect(try DocumentValue(utf8: "é".utf8) == "é")
    for units: [UInt16] in [[0xD800], [0xDC00], [0x61, 0xD800, 0x61], [0xDC00, 0xD800]] {
      let error = #expect(throws: DocumentError.self) { try DocumentValue(utf16: units) }
      #expect(error?.code == .invalidValue)
    }
    #expect(throws: DocumentError.self) { try DocumentValue(utf8: [0xC3]) }
  }

  @Test func `microseconds before and after 1970 are exact`() throws {
    for count: Int64 in [0, 1, -1, 999_999, -999_999, 1_000_000, -1_000_000, -1_000_001] {
      let timestamp = try Timestamp(microseconds: count)
      #expect(timestamp.microseconds == count)
      #expect((0..<1_000_000_000).contains(timestamp.nanoseconds))
    }
    #expect(try Timestamp(microseconds: -1) < .zero)
    #expect(throws: DocumentError.self) { try Timestamp(microseconds: .max) }
    #expect(throws: DocumentError.self) { try Timestamp(microseconds: .min) }
    let precise = try Timestamp(seconds: -1, nanoseconds: 1_999)
    #expect(precise.truncated == (try Timestamp(seconds: -1, nanoseconds: 1_000)))
  }
}

@Suite struct `Maps` {
  @Test func `fields are sorted, and the last one of a name counts`() {
    let map = MapValue([("b", 1), ("a", 2), ("b", 3), ("e\u{301}", 4), ("\u{e9}", 5), ("b", 6)])
    #expect(
      map.fields.map(\.name).map { Array($0.utf8) } == [
        [0x61], [0x62], [0x65, 0xCC, 0x81], [0xC3, 0xA9],
      ])
    #expect(map.fields.map(\.value) == [2, 6, 4, 5])
    #expect(map["e\u{301}"] == 4)
    #expect(map["x"] == nil)
  }

  @Test(arguments: Seeded.seeds(3))
  func `changes keep the order`(seed: UInt64) {
    var random = Seeded(seed)
    var map = MapValue.empty
    var plain: [[UInt8]: DocumentValue] = [:]
    for _ in 0..<2_000 {
      let name = RandomValues.text(&random)
      let value: DocumentValue? = random.chance(30) ? nil : RandomValues.value(&random, depth: 0)
      map[name] = value
      plain[Array(name.utf8)] = value
    }
    let sorted = plain.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    #expect(map.fields.map { Array($0.name.utf8) } == sorted.map(\.key), "seed \(seed)")
    #expect(map.fields.map(\.value) == sorted.map(\.value), "seed \(seed)")
  }
}
