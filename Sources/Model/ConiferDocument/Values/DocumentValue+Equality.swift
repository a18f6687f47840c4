extension DocumentValue: Hashable {
  /// Whether both are of one kind with the same bits: 1 and 1.0 differ, 0.0 and -0.0 too; all NaN
  /// are one value, and texts are compared by their bytes.
  public static func == (a: DocumentValue, b: DocumentValue) -> Bool {
    switch (a, b) {
    case (.null, .null): return true
    case (.boolean(let x), .boolean(let y)): return x == y
    case (.integer(let x), .integer(let y)): return x == y
    case (.double(let x), .double(let y)): return Number.areSame(x, y)
    case (.timestamp(let x), .timestamp(let y)): return x == y
    case (.serverTimestamp(let x, let p), .serverTimestamp(let y, let q)): return x == y && p == q
    case (.string(let x), .string(let y)): return x.hasSameBytes(as: y)
    case (.bytes(let x), .bytes(let y)): return x == y
    case (.reference(let x), .reference(let y)): return x == y
    case (.geoPoint(let x), .geoPoint(let y)): return x == y
    case (.array(let x), .array(let y)): return x == y
    case (.vector(let x), .vector(let y)):
      return x.count == y.count && zip(x, y).allSatisfy(Number.areSame)
    case (.map(let x), .map(let y)): return x == y
    default: return false
    }
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(rank)
    switch self {
    case .null: break
    case .boolean(let value): hasher.combine(value)
    case .integer(let value): hasher.combine(value)
    case .double(let value): Number.hash(value, into: &hasher)
    case .timestamp(let value): hasher.combine(value)
    case .serverTimestamp(let written, let previous):
      hasher.combine(written)
      hasher.combine(previous)
    case .string(let value): value.hashBytes(into: &hasher)
    case .bytes(let value): hasher.combine(value)
    case .reference(let value): hasher.combine(value)
    case .geoPoint(let value): hasher.combine(value)
    case .array(let value): hasher.combine(value)
    case .vector(let value):
      hasher.combine(value.count)
      for number in value { Number.hash(number, into: &hasher) }
    case .map(let value): hasher.combine(value)
    }
  }
}
