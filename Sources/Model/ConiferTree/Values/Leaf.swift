/// A string, a number, a boolean or a server value, which has no children.
///
/// Equality, hashing and order take numbers as doubles (5 equals 5.0) and strings by code units;
/// the order is the Realtime Database's value order.
public enum Leaf: Sendable {
  /// A text.
  case string(String)
  /// A number written without fraction or exponent that fits 64 bits; kept exactly.
  case integer(Int64)
  /// Any other number.
  case double(Double)
  /// True or false.
  case bool(Bool)
  /// A placeholder the server replaces.
  case serverValue(ServerValue)

  /// The number as a double; none for other leaves.
  public var number: Double? {
    switch self {
    case .integer(let value): return Double(value)
    case .double(let value): return value
    default: return nil
    }
  }

  /// The most UTF-8 bytes a string may have.
  public static let longest = 10 * 1024 * 1024

  /// Checks that an app may write the leaf.
  func validate(at keys: [Key]) throws(TreeError) {
    switch self {
    case .string(let text) where text.utf8.count > Leaf.longest:
      throw TreeError(
        .leafTooLarge,
        "The string at \(Path(keys)) has \(text.utf8.count) UTF-8 bytes; the limit is "
          + "\(Leaf.longest). Split it, or store it elsewhere.")
    case .double(let value) where !value.isFinite:
      throw TreeError(
        .invalidValue, "The number at \(Path(keys)) is \(value). Write a finite number.")
    case .serverValue(.increment(let delta)) where delta.number?.isFinite != true:
      throw TreeError(
        .invalidServerValue, "The increment at \(Path(keys)) is not a finite number. Give one.")
    default: break
    }
  }

  /// Whether both are the same case with the same bits, so that overwriting one by the other
  /// changes nothing.
  func isExactly(_ other: Leaf) -> Bool {
    switch (self, other) {
    case (.string(let a), .string(let b)): return a.hasSameUnits(as: b)
    case (.integer(let a), .integer(let b)): return a == b
    case (.double(let a), .double(let b)): return a.bitPattern == b.bitPattern
    case (.bool(let a), .bool(let b)): return a == b
    case (.serverValue(.increment(let a)), .serverValue(.increment(let b))):
      return a.isExactly(b)
    case (.serverValue(let a), .serverValue(let b)): return a == b
    default: return false
    }
  }
}

extension Leaf: Hashable, Comparable {
  /// Whether the value order finds no difference.
  public static func == (a: Leaf, b: Leaf) -> Bool { compare(a, b) == 0 }

  /// Orders leaves as the Realtime Database orders values.
  public static func < (a: Leaf, b: Leaf) -> Bool { compare(a, b) < 0 }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(rank)
    switch self {
    case .string(let text): text.hashUnits(into: &hasher)
    case .integer(let value): hasher.combine(Double(value))
    case .double(let value): hasher.combine(value.isNaN ? .nan : value)
    case .bool(let value): hasher.combine(value)
    case .serverValue(let value): hasher.combine(value)
    }
  }

  /// Orders two leaves: negative, zero or positive.
  ///
  /// Server values, then booleans (false first), then numbers, then strings by UTF-16 code units,
  /// as the Realtime Database orders values. Server values have an order of their own, so that
  /// the order is total; NaN, which no app may write, comes before all numbers.
  public static func compare(_ a: Leaf, _ b: Leaf) -> Int {
    switch (a, b) {
    case (.string(let x), .string(let y)): return x.compareUnits(y)
    case (.bool(let x), .bool(let y)): return (x ? 1 : 0) - (y ? 1 : 0)
    case (.serverValue(let x), .serverValue(let y)): return ServerValue.compare(x, y)
    default:
      guard let x = a.number, let y = b.number else { return a.rank - b.rank }
      if x < y { return -1 }
      if x > y { return 1 }
      return x == y ? 0 : (y.isNaN ? 1 : 0) - (x.isNaN ? 1 : 0)
    }
  }

  /// The place of the leaf's type in the value order; both kinds of number share one.
  private var rank: Int {
    switch self {
    case .serverValue: return 0
    case .bool: return 1
    case .integer, .double: return 2
    case .string: return 3
    }
  }
}

extension Leaf: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral
{
  /// A text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// An integer.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A double.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// True or false.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}
