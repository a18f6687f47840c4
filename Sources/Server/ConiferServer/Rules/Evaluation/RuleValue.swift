import ConiferTree

/// The value of a part of a rule.
enum RuleValue: Sendable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  /// Data with children, or a member of `auth`.
  case node(Node)
  case snapshot(RuleSnapshot)

  /// The value of data: null when there is none.
  init(_ node: Node) {
    switch node.leaf {
    case .string(let text)?: self = .string(text)
    case .bool(let value)?: self = .bool(value)
    case .integer(let value)?: self = .number(Double(value))
    case .double(let value)?: self = .number(value)
    case .serverValue?: self = .null
    case nil: self = node.isEmpty ? .null : .node(node)
    }
  }
}

/// A place of data: `root`, `data`, `newData` and the places that their methods return.
struct RuleSnapshot: Sendable {
  /// All the data.
  let tree: Node
  let keys: [Key]
  /// The data there.
  let node: Node
}

extension Node {
  /// A child; rules cannot reach a priority by a name.
  func ruleChild(_ key: Key) -> Node { key.isPriority ? .empty : self[key] }
}

/// Why a rule could not be evaluated; it then grants nothing and does not hold.
enum RuleFailure: Error {
  /// A value is not of the type that is needed.
  case type(String)
  /// It takes more steps than allowed.
  case exhausted
}

/// Numbers as text, formatted as in JavaScript.
enum RuleNumber {
  static func text(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
    if value.magnitude < 9_007_199_254_740_992, value == value.rounded(.towardZero) {
      return String(Int64(value))
    }
    var digits: [UInt8] = []
    var scale: Int?
    var exponent = 0
    let parts = Array(value.magnitude.description.utf8).split(separator: UInt8(ascii: "e"))
    for byte in parts.first ?? [] {
      if byte == UInt8(ascii: ".") { scale = digits.count } else { digits.append(byte) }
    }
    if parts.count > 1 { exponent = Int(String(decoding: parts[1], as: UTF8.self)) ?? 0 }
    // The value is 0.digits times ten to the scale.
    var point = (scale ?? digits.count) + exponent
    while digits.count > 1, digits[0] == UInt8(ascii: "0") {
      digits.removeFirst()
      point -= 1
    }
    while digits.count > 1, digits[digits.count - 1] == UInt8(ascii: "0") { digits.removeLast() }
    return (value < 0 ? "-" : "") + layout(digits, point)
  }

  private static func layout(_ digits: [UInt8], _ point: Int) -> String {
    func text(_ digits: some Sequence<UInt8>) -> String {
      String(decoding: Array(digits), as: UTF8.self)
    }
    func zeros(_ count: Int) -> String { String(repeating: "0", count: count) }
    if point > 21 || point < -5 {
      let fraction = digits.count > 1 ? "." + text(digits.dropFirst()) : ""
      return text(digits.prefix(1)) + fraction + "e" + (point > 0 ? "+" : "") + String(point - 1)
    }
    if point >= digits.count { return text(digits) + zeros(point - digits.count) }
    if point > 0 { return text(digits.prefix(point)) + "." + text(digits.dropFirst(point)) }
    return "0." + zeros(-point) + text(digits)
  }
}
