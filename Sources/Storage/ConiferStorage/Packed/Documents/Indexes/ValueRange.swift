import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// A bound among the encodings of values: before or after those that begin with some bytes.
struct ValueBound: Hashable, Sendable {
  let bytes: Bytes
  let isAfter: Bool

  static let start = ValueBound(bytes: [], isAfter: false)
  static let end = ValueBound(bytes: [], isAfter: true)

  /// The bound among encodings in the other direction.
  var inverted: ValueBound { ValueBound(bytes: bytes.map { ~$0 }, isAfter: !isAfter) }

  /// The smallest bytes after the bound.
  var key: Bytes { isAfter ? StoreKey.end(of: bytes) ?? [0xFF] : bytes }

  fileprivate static func < (a: ValueBound, b: ValueBound) -> Bool { bytesPrecede(a.key, b.key) }
}

/// Values that lie between two places, as their ascending encodings do.
struct ValueRange: Hashable, Sendable {
  let low: ValueBound
  let high: ValueBound

  static let all = ValueRange(low: .start, high: .end)

  /// The range among descending encodings.
  var inverted: ValueRange { ValueRange(low: high.inverted, high: low.inverted) }

  /// The intersection of two lists of ascending ranges.
  static func intersection(_ a: [ValueRange], _ b: [ValueRange]) -> [ValueRange] {
    a.flatMap { one in
      b.compactMap { other in
        let low = one.low < other.low ? other.low : one.low
        let high = one.high < other.high ? one.high : other.high
        return low < high ? ValueRange(low: low, high: high) : nil
      }
    }
  }
}

extension FieldFilter {
  /// The values that the condition allows, as ascending ranges; all values if the condition is not
  /// about their order.
  var ranges: [ValueRange] {
    let (first, last) = {
      let bytes = OrderedEncoder.firstBytes(ofTypeOf: value)
      return (
        ValueBound(bytes: [bytes.lowerBound], isAfter: false),
        ValueBound(bytes: [bytes.upperBound], isAfter: true)
      )
    }()
    let encoded = Self.encoded(value)
    let (before, behind) = (
      ValueBound(bytes: encoded, isAfter: false), ValueBound(bytes: encoded, isAfter: true)
    )
    switch `operator` {
    case .equal: return [ValueRange(low: before, high: behind)]
    case .lessThan: return [ValueRange(low: first, high: before)]
    case .lessThanOrEqual: return [ValueRange(low: first, high: behind)]
    case .greaterThan: return [ValueRange(low: behind, high: last)]
    case .greaterThanOrEqual: return [ValueRange(low: before, high: last)]
    case .notEqual: return Self.complement([value])
    case .notIn:
      guard case .array(let values) = value else { return [.all] }
      return values.contains(.null) ? [] : Self.complement(values)
    case .in, .arrayContains, .arrayContainsAny: return [.all]
    }
  }

  /// All values but some, and but null.
  private static func complement(_ values: [DocumentValue]) -> [ValueRange] {
    let left = Set((values + [.null]).map(encoded)).sorted(by: bytesPrecede)
    var ranges: [ValueRange] = []
    var low = ValueBound.start
    for bytes in left {
      ranges.append(ValueRange(low: low, high: ValueBound(bytes: bytes, isAfter: false)))
      low = ValueBound(bytes: bytes, isAfter: true)
    }
    ranges.append(ValueRange(low: low, high: .end))
    return ranges.filter { $0.low < $0.high }
  }

  static func encoded(_ value: DocumentValue) -> Bytes {
    var encoder = OrderedEncoder()
    encoder.append(value)
    return encoder.bytes
  }
}
