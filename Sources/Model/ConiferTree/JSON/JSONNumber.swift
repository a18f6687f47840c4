/// Numbers of JSON: their grammar, their exact value, and their shortest text.
enum JSONNumber {
  /// The result of parsing a number.
  enum Parsed {
    case integer(Int64)
    case double(Double)
    /// A whole number that no 64 bits hold, as the nearest double.
    case largeInteger(Double)
    /// The grammar breaks at this index.
    case invalid(at: Int)
    /// The nearest double is infinite.
    case outOfRange
  }

  /// The powers of ten that a double holds exactly.
  private static let exactPowers: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
  ]

  /// Reads a number that fills `text` whole.
  ///
  /// Doubles are rounded correctly: a mantissa below 2^53 and a power of ten that are both exact
  /// need one correctly rounded operation; everything else goes through the standard library.
  static func parse(_ text: UnsafeBufferPointer<UInt8>) -> Parsed {
    var index = 0
    let count = text.count
    var mantissa: UInt64 = 0
    var exact = true
    func isDigit(_ at: Int) -> Bool { at < count && text[at] &- 0x30 < 10 }
    func takeDigits() {
      while index < count {
        let digit = text[index] &- 0x30
        if digit >= 10 { break }
        let (scaled, overflow) = mantissa.multipliedReportingOverflow(by: 10)
        let (sum, carry) = scaled.addingReportingOverflow(UInt64(digit))
        if overflow || carry { exact = false } else { mantissa = sum }
        index += 1
      }
    }

    let negative = index < count && text[index] == UInt8(ascii: "-")
    if negative { index += 1 }
    guard isDigit(index) else { return .invalid(at: index) }
    if text[index] == UInt8(ascii: "0") {
      index += 1
      if isDigit(index) { return .invalid(at: index) }
    } else {
      takeDigits()
    }
    if index == count {
      if exact, mantissa <= UInt64(Int64.max) {
        if mantissa == 0, negative { return .double(-0.0) }
        return .integer(negative ? -Int64(mantissa) : Int64(mantissa))
      }
      if exact, negative, mantissa == Int64.min.magnitude { return .integer(.min) }
      guard case .double(let nearest) = standard(text) else { return .outOfRange }
      return .largeInteger(nearest)
    }

    var power = 0
    if text[index] == UInt8(ascii: ".") {
      index += 1
      guard isDigit(index) else { return .invalid(at: index) }
      let start = index
      takeDigits()
      power = start - index
    }
    if index < count, text[index] | 0x20 == UInt8(ascii: "e") {
      index += 1
      var down = false
      if index < count, text[index] == UInt8(ascii: "+") || text[index] == UInt8(ascii: "-") {
        down = text[index] == UInt8(ascii: "-")
        index += 1
      }
      guard isDigit(index) else { return .invalid(at: index) }
      var exponent = 0
      while isDigit(index) {
        // Beyond this every mantissa that a text can hold is zero or infinite; `standard` decides.
        if exponent < 1_000_000 { exponent = exponent * 10 + Int(text[index] &- 0x30) }
        index += 1
      }
      power += down ? -exponent : exponent
    }
    guard index == count else { return .invalid(at: index) }

    if exact, mantissa < 1 << 53, power >= -22, power <= 22 {
      let whole = Double(mantissa)
      let value = power < 0 ? whole / exactPowers[-power] : whole * exactPowers[power]
      return .double(negative ? -value : value)
    }
    return standard(text)
  }

  private static func standard(_ text: UnsafeBufferPointer<UInt8>) -> Parsed {
    guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else {
      return .outOfRange
    }
    return .double(value)
  }

  /// Whether a double is written without fraction and exponent.
  static func isWritten(asInteger value: Double) -> Bool {
    value.magnitude < 0x1p53 && value == value.rounded(.towardZero)
  }

  /// Appends the shortest text that reads back as the same double, laid out as JavaScript does.
  ///
  /// A whole number below 2^53 is written as an integer; a larger one is given a fraction or an
  /// exponent, so that it comes back as the same double and not as an integer nearby. The sign of
  /// zero is kept as `-0`. An infinite number or NaN becomes `null`, as in JavaScript.
  static func append(_ value: Double, to bytes: inout [UInt8]) {
    guard value.isFinite else {
      bytes.append(contentsOf: "null".utf8)
      return
    }
    if isWritten(asInteger: value) {
      if value == 0, value.sign == .minus { bytes.append(UInt8(ascii: "-")) }
      append(Int64(value), to: &bytes)
      return
    }
    // The standard library knows the shortest digits; only their layout differs.
    var digits: [UInt8] = []
    var point: Int?
    var exponent = 0
    let text = Array(value.magnitude.description.utf8)
    var index = 0
    while index < text.count, text[index] != UInt8(ascii: "e") {
      if text[index] == UInt8(ascii: ".") {
        point = digits.count
      } else {
        digits.append(text[index])
      }
      index += 1
    }
    if index < text.count {
      let down = text[index + 1] == UInt8(ascii: "-")
      for byte in text[(index + 1)...] where byte &- 0x30 < 10 {
        exponent = exponent * 10 + Int(byte &- 0x30)
      }
      if down { exponent = -exponent }
    }
    // value = 0.digits * 10^scale
    var scale = (point ?? digits.count) + exponent
    while digits.count > 1, digits[0] == UInt8(ascii: "0") {
      digits.removeFirst()
      scale -= 1
    }
    while digits.count > 1, digits[digits.count - 1] == UInt8(ascii: "0") { digits.removeLast() }

    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    let zero = UInt8(ascii: "0")
    switch scale {
    case digits.count...21:
      bytes.append(contentsOf: digits)
      bytes.append(contentsOf: repeatElement(zero, count: scale - digits.count))
      bytes.append(contentsOf: ".0".utf8)
    case 1...21:
      bytes.append(contentsOf: digits[..<scale])
      bytes.append(UInt8(ascii: "."))
      bytes.append(contentsOf: digits[scale...])
    case -5...0:
      bytes.append(contentsOf: "0.".utf8)
      bytes.append(contentsOf: repeatElement(zero, count: -scale))
      bytes.append(contentsOf: digits)
    default:
      bytes.append(digits[0])
      if digits.count > 1 {
        bytes.append(UInt8(ascii: "."))
        bytes.append(contentsOf: digits[1...])
      }
      bytes.append(UInt8(ascii: "e"))
      if scale - 1 > 0 { bytes.append(UInt8(ascii: "+")) }
      append(Int64(scale - 1), to: &bytes)
    }
  }

  /// Appends an integer in decimal.
  static func append(_ value: Int64, to bytes: inout [UInt8]) {
    var rest = value.magnitude
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    let start = bytes.count
    repeat {
      bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10))
      rest /= 10
    } while rest > 0
    bytes[start...].reverse()
  }
}
