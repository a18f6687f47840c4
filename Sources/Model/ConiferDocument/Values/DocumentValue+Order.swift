extension DocumentValue {
  /// The types in their order; both kinds of number share one.
  enum Rank: UInt8 {
    case null, boolean, number, timestamp, serverTimestamp, string, bytes, reference, geoPoint
    case array, vector, map
  }

  var rank: Rank {
    switch self {
    case .null: return .null
    case .boolean: return .boolean
    case .integer, .double: return .number
    case .timestamp: return .timestamp
    case .serverTimestamp: return .serverTimestamp
    case .string: return .string
    case .bytes: return .bytes
    case .reference: return .reference
    case .geoPoint: return .geoPoint
    case .array: return .array
    case .vector: return .vector
    case .map: return .map
    }
  }

  /// Whether queries compare the two at all: both are of one type, numbers counting as one.
  public static func areComparable(_ a: DocumentValue, _ b: DocumentValue) -> Bool {
    a.rank == b.rank
  }

  /// Orders two values as the service does: negative, zero or positive.
  ///
  /// First by type: null, boolean, number, timestamp, pending server timestamp, string, bytes,
  /// reference, geopoint, array, vector, map. Within a type by value; what is zero here may still
  /// differ by `==`, such as 1 and 1.0.
  public static func compare(_ a: DocumentValue, _ b: DocumentValue) -> Int {
    switch (a, b) {
    case (.null, .null): return 0
    case (.boolean(let x), .boolean(let y)): return (x ? 1 : 0) - (y ? 1 : 0)
    case (.timestamp(let x), .timestamp(let y)): return Timestamp.compare(x, y)
    case (.serverTimestamp(let x, _), .serverTimestamp(let y, _)): return Timestamp.compare(x, y)
    case (.string(let x), .string(let y)): return x.compareUTF8(y)
    case (.bytes(let x), .bytes(let y)):
      return x.withUnsafeBufferPointer { p in y.withUnsafeBufferPointer { compareBytes(p, $0) } }
    case (.reference(let x), .reference(let y)): return DocumentName.compare(x, y)
    case (.geoPoint(let x), .geoPoint(let y)): return GeoPoint.compare(x, y)
    case (.array(let x), .array(let y)): return compare(x, y)
    case (.vector(let x), .vector(let y)): return compare(x, y)
    case (.map(let x), .map(let y)): return MapValue.compare(x, y)
    default:
      guard let x = a.number, let y = b.number else {
        return Int(a.rank.rawValue) - Int(b.rank.rawValue)
      }
      return Number.compare(x, y)
    }
  }

  private static func compare(_ a: [DocumentValue], _ b: [DocumentValue]) -> Int {
    for i in 0..<min(a.count, b.count) {
      let order = compare(a[i], b[i])
      if order != 0 { return order }
    }
    return a.count - b.count
  }

  /// Vectors are ordered by their length first.
  private static func compare(_ a: [Double], _ b: [Double]) -> Int {
    if a.count != b.count { return a.count - b.count }
    for i in 0..<a.count {
      let order = Number.compare(a[i], b[i])
      if order != 0 { return order }
    }
    return 0
  }
}
