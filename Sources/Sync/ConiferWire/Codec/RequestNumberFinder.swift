/// Reads the number of a request, the member `r` of the member `d`, from the text of a message that is
/// not kept.
///
/// Its memory is bounded, whatever it reads. It does not check that the text is JSON; in other text it
/// finds any number, or none.
package struct RequestNumberFinder: Sendable {
  /// The number that was found last.
  private(set) var number: UInt64?

  private enum Place {
    /// Outside of strings and of the number.
    case between
    /// Within a string.
    case string(isEscaped: Bool)
    /// Within the digits of the number.
    case digits(UInt64)
  }

  private var place = Place.between
  /// How many objects and arrays are open.
  private var depth = 0
  /// The last string at this depth, up to two bytes of it: a key, once a colon follows.
  private var text: [UInt8] = []
  /// Whether the object at the second depth is the member `d`.
  private var isWithinData = false
  /// Whether the next value is that of `d`, or of `r`.
  private var isNext: (data: Bool, number: Bool) = (false, false)

  /// The number in a message's text, if it is a request; its text in UTF-8.
  package static func number(in text: [UInt8]) -> UInt64? {
    var finder = RequestNumberFinder()
    finder.read(text)
    return finder.number
  }

  /// Reads the next bytes of the text.
  mutating func read(_ bytes: [UInt8]) {
    for byte in bytes { read(byte) }
  }

  private mutating func read(_ byte: UInt8) {
    switch place {
    case .string(isEscaped: true):
      // Clients write `d` and `r` without escapes: a key with one is another key.
      keep(0)
      place = .string(isEscaped: false)
    case .string(isEscaped: false):
      switch byte {
      case UInt8(ascii: "\\"): place = .string(isEscaped: true)
      case UInt8(ascii: "\""): place = .between
      default: keep(byte)
      }
    case .digits(let value):
      let digit = byte &- UInt8(ascii: "0")
      guard digit < 10 else {
        place = .between
        number = isEnd(byte) ? value : nil
        return structure(byte)
      }
      let (product, isLarge) = value.multipliedReportingOverflow(by: 10)
      let (sum, isLarger) = product.addingReportingOverflow(UInt64(digit))
      place = isLarge || isLarger ? .between : .digits(sum)
    case .between: structure(byte)
    }
  }

  private mutating func structure(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): return
    case UInt8(ascii: "\""):
      text.removeAll(keepingCapacity: true)
      place = .string(isEscaped: false)
    case UInt8(ascii: ":"):
      isNext.data = depth == 1 && text == [UInt8(ascii: "d")]
      isNext.number = depth == 2 && isWithinData && text == [UInt8(ascii: "r")]
      return
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      depth += 1
      if depth == 2 { isWithinData = isNext.data && byte == UInt8(ascii: "{") }
    case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
    case UInt8(ascii: "0")...UInt8(ascii: "9"):
      if isNext.number { place = .digits(UInt64(byte &- UInt8(ascii: "0"))) }
    default: break
    }
    isNext = (false, false)
  }

  /// Whether a byte ends a whole number, rather than making it a fraction.
  private func isEnd(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: " "), UInt8(ascii: "\t"),
      UInt8(ascii: "\n"), UInt8(ascii: "\r"):
      true
    default: false
    }
  }

  /// Remembers a byte of a string that may be the key `d` or `r`.
  private mutating func keep(_ byte: UInt8) {
    if depth <= 2, text.count < 2 { text.append(byte) }
  }
}
