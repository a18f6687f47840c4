import ConiferTree

/// Splits an expression into tokens.
struct ExpressionLexer {
  private let text: [UInt8]
  private var at = 0
  /// The current token, and where it begins.
  private(set) var token = ExpressionToken.end
  private(set) var start = 0

  init(_ text: [UInt8]) throws(ExpressionError) {
    self.text = text
    try advance()
  }

  /// Advances to the next token.
  mutating func advance() throws(ExpressionError) {
    try skipSpace()
    start = at
    guard at < text.count else {
      token = .end
      return
    }
    switch text[at] {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): token = .number(try number())
    case UInt8(ascii: ".") where Self.isDigit(byte(at + 1)): token = .number(try number())
    case UInt8(ascii: "'"), UInt8(ascii: "\""): token = .string(try string())
    case UInt8(ascii: "$"):
      at += 1
      token = .variable("$" + name())
    case let byte where Self.isName(byte): token = .name(name())
    default: token = .symbol(try symbol())
    }
  }

  func error(_ message: String, at offset: Int? = nil) -> ExpressionError {
    ExpressionError(message: message, offset: offset ?? start)
  }

  static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  static func isName(_ byte: UInt8) -> Bool {
    isDigit(byte) || (byte | 0x20) &- 0x61 < 26 || byte == UInt8(ascii: "_")
  }

  /// A byte, or 0 after the end.
  private func byte(_ index: Int) -> UInt8 { index < text.count ? text[index] : 0 }

  private mutating func skipSpace() throws(ExpressionError) {
    while at < text.count {
      switch (text[at], byte(at + 1)) {
      case (0x20, _), (0x09...0x0D, _): at += 1
      case (UInt8(ascii: "/"), UInt8(ascii: "/")):
        at = text[at...].firstIndex(of: 0x0A) ?? text.count
      case (UInt8(ascii: "/"), UInt8(ascii: "*")):
        let comment = at
        at += 2
        while byte(at) != UInt8(ascii: "*") || byte(at + 1) != UInt8(ascii: "/") {
          guard at < text.count else { throw error("The comment has no end.", at: comment) }
          at += 1
        }
        at += 2
      default: return
      }
    }
  }

  private mutating func name() -> String {
    let from = at
    while Self.isName(byte(at)) { at += 1 }
    return String(decoding: text[from..<at], as: UTF8.self)
  }

  private mutating func number() throws(ExpressionError) -> Double {
    let from = at
    func skipDigits(_ index: Int) -> Int {
      var index = index
      while Self.isDigit(byte(index)) { index += 1 }
      return index
    }
    at = skipDigits(at)
    let leadsWithZero = text[from] == UInt8(ascii: "0") && at > from + 1
    if byte(at) == UInt8(ascii: ".") { at = skipDigits(at + 1) }
    if byte(at) | 0x20 == UInt8(ascii: "e") {
      let sign = byte(at + 1) == UInt8(ascii: "+") || byte(at + 1) == UInt8(ascii: "-") ? 1 : 0
      guard Self.isDigit(byte(at + 1 + sign)) else { throw error("The exponent has no digits.") }
      at = skipDigits(at + 1 + sign)
    }
    if Self.isName(byte(at)) || leadsWithZero { throw error("This is not a number.") }
    var digits = String(decoding: text[from..<at], as: UTF8.self)
    // Swift reads neither ".5" nor "5.".
    if digits.utf8.first == UInt8(ascii: ".") { digits = "0" + digits }
    digits = digits.withoutEmptyFraction()
    guard let value = Double(digits), value.isFinite else {
      throw error("The number is too large.")
    }
    return value
  }

  private mutating func symbol() throws(ExpressionError) -> ExpressionToken.Symbol {
    for length in [3, 2, 1] where at + length <= text.count {
      let piece = String(decoding: text[at..<(at + length)], as: UTF8.self)
      if let symbol = ExpressionToken.Symbol(rawValue: piece) {
        at += length
        return symbol
      }
    }
    if text[at] == UInt8(ascii: "=") {
      throw error("Rule expressions may not contain assignments.")
    }
    let first = String(decoding: text[at...].prefix(4), as: UTF8.self).unicodeScalars.first
    throw error("Unexpected '\(first.map(String.init) ?? "")'.")
  }

  // MARK: Strings and regular expressions

  private mutating func string() throws(ExpressionError) -> [UInt8] {
    let quote = text[at]
    var result: [UInt8] = []
    at += 1
    while at < text.count {
      let byte = text[at]
      at += 1
      if byte == quote { return result }
      if byte == 0x0A { break }
      if byte == UInt8(ascii: "\\") {
        try escape(into: &result)
      } else {
        result.append(byte)
      }
    }
    throw error("The string has no end.")
  }

  private mutating func escape(into result: inout [UInt8]) throws(ExpressionError) {
    let from = at - 1
    let byte = byte(at)
    at += 1
    switch byte {
    case UInt8(ascii: "n"): result.append(0x0A)
    case UInt8(ascii: "t"): result.append(0x09)
    case UInt8(ascii: "r"): result.append(0x0D)
    case UInt8(ascii: "b"): result.append(0x08)
    case UInt8(ascii: "f"): result.append(0x0C)
    case UInt8(ascii: "v"): result.append(0x0B)
    case UInt8(ascii: "0") where !Self.isDigit(self.byte(at)): result.append(0)
    case UInt8(ascii: "x"): try append(try hex(2, from), from, to: &result)
    case UInt8(ascii: "u"):
      var unit = try hex(4, from)
      if unit & 0xFC00 == 0xD800, self.byte(at) == UInt8(ascii: "\\"),
        self.byte(at + 1) == UInt8(ascii: "u")
      {
        at += 2
        let low = try hex(4, from)
        guard low & 0xFC00 == 0xDC00 else { throw error("Half of a surrogate pair.", at: from) }
        unit = 0x10000 + (unit & 0x3FF) << 10 + low & 0x3FF
      }
      try append(unit, from, to: &result)
    case _ where Self.isDigit(byte): throw error("There is no such escape.", at: from)
    default: result.append(byte)
    }
  }

  private func append(
    _ scalar: UInt32, _ from: Int, to result: inout [UInt8]
  ) throws(ExpressionError) {
    guard let scalar = Unicode.Scalar(scalar) else {
      throw error("Half of a surrogate pair.", at: from)
    }
    result.append(contentsOf: String(scalar).utf8)
  }

  private mutating func hex(_ count: Int, _ from: Int) throws(ExpressionError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<count {
      guard let digit = byte(at).hexDigit else {
        throw error("The escape needs \(count) hexadecimal digits.", at: from)
      }
      value = value << 4 | UInt32(digit)
      at += 1
    }
    return value
  }

  /// Reads the regular expression whose first slash is the current token, and advances past it.
  mutating func pattern() throws(ExpressionError) -> Pattern {
    let from = start + 1
    at = from
    var isInClass = false
    while byte(at) != UInt8(ascii: "/") || isInClass {
      guard at < text.count, text[at] != 0x0A else {
        throw error("The regular expression has no end.")
      }
      switch text[at] {
      case UInt8(ascii: "\\"): at += 1
      case UInt8(ascii: "["): isInClass = true
      case UInt8(ascii: "]"): isInClass = false
      default: break
      }
      at += 1
    }
    let body = Array(text[from..<at])
    at += 1
    let flagsStart = at
    let flags = name()
    guard flags.isEmpty || flags == "i" else {
      throw error("The only flag of a regular expression is i.", at: flagsStart)
    }
    let pattern: Pattern
    do throws(PatternError) {
      pattern = try Pattern(body, ignoresCase: flags == "i")
    } catch {
      throw self.error(error.message, at: from + error.offset)
    }
    try advance()
    return pattern
  }
}

extension String {
  /// The number without a trailing point, which Swift cannot parse.
  fileprivate func withoutEmptyFraction() -> String {
    var result: [UInt8] = []
    let bytes = Array(utf8)
    for (index, byte) in bytes.enumerated() {
      let next = index + 1 < bytes.count ? bytes[index + 1] : 0
      if byte == UInt8(ascii: "."), !ExpressionLexer.isDigit(next) { continue }
      result.append(byte)
    }
    return String(decoding: result, as: UTF8.self)
  }
}
