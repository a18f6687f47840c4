/// A number that a field may hold, either an integer of 64 bits or a double.
///
/// Both are in one order, by their exact values; they are equal only when their kinds are, too.
public enum Number: Sendable {
  /// An integer, kept exactly.
  case integer(Int64)
  /// A double, which may be NaN or infinite.
  case double(Double)

  /// The nearest double.
  public var asDouble: Double {
    switch self {
    case .integer(let value): return Double(value)
    case .double(let value): return value
    }
  }

  /// Orders two numbers by their exact values: negative, zero or positive.
  ///
  /// NaN comes before all numbers; minus zero and zero are in one place.
  public static func compare(_ a: Number, _ b: Number) -> Int {
    switch (a, b) {
    case (.integer(let x), .integer(let y)): return x < y ? -1 : x > y ? 1 : 0
    case (.double(let x), .double(let y)): return compare(x, y)
    case (.integer(let x), .double(let y)): return compare(x, y)
    case (.double(let x), .integer(let y)): return -compare(y, x)
    }
  }

  static func compare(_ a: Double, _ b: Double) -> Int {
    if a < b { return -1 }
    if a > b { return 1 }
    return a == b ? 0 : (b.isNaN ? 1 : 0) - (a.isNaN ? 1 : 0)
  }

  private static func compare(_ a: Int64, _ b: Double) -> Int {
    if b.isNaN || b < -0x1p63 { return 1 }
    if b >= 0x1p63 { return -1 }
    // Both are within 64 bits here: the integer parts are compared first, then the fraction of b.
    let whole = Int64(b)
    if a != whole { return a < whole ? -1 : 1 }
    let rest = b - Double(whole)
    return rest > 0 ? -1 : rest < 0 ? 1 : 0
  }

  /// Whether two doubles have the same bits, all NaN counting as one.
  static func areSame(_ a: Double, _ b: Double) -> Bool {
    a.bitPattern == b.bitPattern || (a.isNaN && b.isNaN)
  }

  /// Feeds what `areSame` compares.
  static func hash(_ value: Double, into hasher: inout Hasher) {
    hasher.combine(value.isNaN ? Double.nan.bitPattern : value.bitPattern)
  }
}

extension Number: Hashable {
  /// Whether both are the same kind with the same bits, all NaN counting as one.
  public static func == (a: Number, b: Number) -> Bool {
    switch (a, b) {
    case (.integer(let x), .integer(let y)): return x == y
    case (.double(let x), .double(let y)): return areSame(x, y)
    default: return false
    }
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .integer(let value): hasher.combine(value)
    case .double(let value): Number.hash(value, into: &hasher)
    }
  }
}

extension Number: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
  /// An integer.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A double.
  public init(floatLiteral value: Double) { self = .double(value) }
}
