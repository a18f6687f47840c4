import ConiferDocument
import TestSupport

/// Values, paths and maps at random, with the awkward ones often among them.
enum RandomValues {
  static let integers: [Int64] = [
    0, 1, -1, 2, 63, 64, 127, 128, 1000, .min, .min + 1, .max, .max - 1, 1 << 53, 1 << 53 + 1,
    1 << 53 - 1, -(1 << 53), -(1 << 53) - 1, -(1 << 53) + 1, 1 << 62, 1 << 62 + 1, 1 << 62 - 1,
    (1 << 53 + 1) << 9, (1 << 53 + 1) << 9 + 1, .max - 1023, .max - 1024, .max - 511,
  ]

  static let doubles: [Double] = [
    0, -0.0, 1, -1, 0.5, -0.5, 1.5, .nan, -.nan, .signalingNaN, .infinity, -.infinity,
    .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .leastNormalMagnitude,
    Double.leastNormalMagnitude.nextDown, .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
    0x1p53, 0x1p53 - 1, 0x1p53 + 2, -0x1p53, 0x1p62, 0x1p62 + 1024, 0x1p63, -0x1p63,
    0x1p63.nextDown, (-0x1p63).nextDown, (-0x1p63).nextUp, 0x1p64, Double(1).nextUp,
    Double(1).nextDown, 1e300, 1e-300,
  ]

  static let texts = [
    "", "a", "b", "ab", "a\u{0}", "a\u{0}\u{0}", "a\u{1}", "a\u{2}", "\u{0}", "\u{1}", "e\u{301}",
    "\u{e9}", "z", "\u{ffff}", "\u{e000}", "\u{10000}", "\u{10ffff}", "A", "__id1__",
    "long text ".repeated,
  ]

  static func text(_ random: inout Seeded) -> String {
    if random.chance(70) { return random.pick(texts) }
    return (0..<random.below(4)).map { _ in random.pick(["a", "\u{0}", "\u{1}", "é", "\u{10000}"]) }
      .joined()
  }

  static func number(_ random: inout Seeded) -> DocumentValue {
    switch random.below(6) {
    case 0: return .integer(random.pick(integers))
    case 1: return .double(random.pick(doubles))
    case 2: return .integer(Int64(bitPattern: random.next() >> UInt64(random.below(64))))
    case 3: return .double(Double(bitPattern: random.next()))
    case 4: return .double(Double(random.pick(integers)))
    default: return .integer(Int64(random.below(9)) - 4)
    }
  }

  static func timestamp(_ random: inout Seeded) -> Timestamp {
    let seconds = random.pick([
      0, 1, -1, 1_700_000_000, Timestamp.range.lowerBound, Timestamp.range.upperBound,
      Int64(random.below(1 << 31)),
    ])
    let nanoseconds = random.pick([0, 1, 1000, 500_000_000, 999_999_999])
    return (try? Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds))) ?? .zero
  }

  static let segments = [
    "a", "b", "ab", "a b", "a-b", "z", "é", "e\u{301}", "\u{10000}", "\u{e000}", "__id7__",
    "__id12__", "__id-2__", "__id9223372036854775807__", "__id-9223372036854775808__",
    "__id07__", "__id__", "__id9223372036854775808__", "7", "12", "\u{0}", "a\u{0}", "a\u{1}",
  ]

  static func path(_ random: inout Seeded) -> DocumentPath {
    let count = random.pick([2, 2, 4])
    let text = (0..<count).map { _ in random.pick(segments) }.joined(separator: "/")
    guard let path = try? DocumentPath(text) else { preconditionFailure("'\(text)' is no path") }
    return path
  }

  static func name(_ random: inout Seeded) -> DocumentName {
    DocumentName(
      path(&random),
      in: DatabaseID(
        project: random.pick(["p", "p2", "q"]), database: random.pick(["(default)", "d"])))
  }

  static func geoPoint(_ random: inout Seeded) -> GeoPoint {
    let degrees = [0, -0.0, 1, -1, 45.5, -90, 90, .leastNonzeroMagnitude]
    guard
      let point = try? GeoPoint(latitude: random.pick(degrees), longitude: random.pick(degrees))
    else { preconditionFailure("no point") }
    return point
  }

  static func value(_ random: inout Seeded, depth: Int = 2) -> DocumentValue {
    switch random.below(depth > 0 ? 16 : 12) {
    case 0: return .null
    case 1: return .boolean(random.chance(50))
    case 2, 3, 4: return number(&random)
    case 5: return .timestamp(timestamp(&random))
    case 6: return .serverTimestamp(written: timestamp(&random), previous: nil)
    case 7, 8: return .string(text(&random))
    case 9: return .bytes((0..<random.below(4)).map { _ in random.pick([0, 1, 2, 127, 255]) })
    case 10: return .reference(name(&random))
    case 11: return .geoPoint(geoPoint(&random))
    case 12, 13:
      return .array((0..<random.below(4)).map { _ in value(&random, depth: depth - 1) })
    case 14: return .vector((0..<random.below(4)).map { _ in random.pick(doubles) })
    default: return .map(map(&random, depth: depth - 1))
    }
  }

  static func map(_ random: inout Seeded, depth: Int) -> MapValue {
    MapValue((0..<random.below(4)).map { _ in (text(&random), value(&random, depth: depth)) })
  }
}

extension String {
  fileprivate var repeated: String { String(repeating: self, count: 30) }
}

/// -1, 0 or 1.
func sign(_ order: Int) -> Int { order.signum() }
