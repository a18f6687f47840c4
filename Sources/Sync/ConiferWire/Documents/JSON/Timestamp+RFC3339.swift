package import ConiferDocument

extension Timestamp {
  /// The moment of a text such as `2026-11-24T01:20:30.000000001Z` (RFC 3339).
  ///
  /// - Parameter text: a date, `T`, a time with up to nine digits of a second's fraction, and `Z` or an offset such as
  ///   `+02:00`.
  /// - Throws: `invalidValue` for any other text, a date that there is not, and years outside of 1 to 9999.
  package init(rfc3339 text: String) throws(DocumentError) {
    guard let read = Self.read(Array(text.utf8)) else {
      throw DocumentError(
        .invalidValue,
        "\"\(text)\" is no time. Write one as 2026-11-24T01:20:30.123456Z, with up to nine digits behind "
          + "the point and Z or an offset such as +02:00.")
    }
    try self.init(seconds: read.seconds, nanoseconds: read.nanoseconds)
  }

  private static func read(_ text: [UInt8]) -> (seconds: Int64, nanoseconds: Int32)? {
    func number(_ range: Range<Int>) -> Int64? {
      guard range.upperBound <= text.count else { return nil }
      var value: Int64 = 0
      for byte in text[range] {
        guard byte &- 0x30 < 10 else { return nil }
        value = value * 10 + Int64(byte - 0x30)
      }
      return value
    }
    func has(_ byte: Character, at index: Int) -> Bool {
      index < text.count && text[index] | 0x20 == (byte.asciiValue ?? 0) | 0x20
    }
    guard let year = number(0..<4), has("-", at: 4), let month = number(5..<7), has("-", at: 7),
      let day = number(8..<10), has("T", at: 10), let hour = number(11..<13), has(":", at: 13),
      let minute = number(14..<16), has(":", at: 16), let second = number(17..<19),
      let days = days(year, month, day), hour < 24, minute < 60, second < 60
    else { return nil }
    var at = 19
    var nanoseconds: Int64 = 0
    if has(".", at: at), text[at] == UInt8(ascii: ".") {
      let digits = text[(at + 1)...].prefix { $0 &- 0x30 < 10 }.count
      guard 1...9 ~= digits, let fraction = number((at + 1)..<(at + 1 + digits)) else { return nil }
      nanoseconds = (digits..<9).reduce(fraction) { value, _ in value * 10 }
      at += 1 + digits
    }
    var offset: Int64 = 0
    if has("Z", at: at) {
      at += 1
    } else {
      guard at < text.count, text[at] == UInt8(ascii: "+") || text[at] == UInt8(ascii: "-"),
        let hours = number((at + 1)..<(at + 3)), text.count > at + 3,
        text[at + 3] == UInt8(ascii: ":"), let minutes = number((at + 4)..<(at + 6)), hours < 24,
        minutes < 60
      else { return nil }
      offset = (hours * 60 + minutes) * (text[at] == UInt8(ascii: "-") ? -60 : 60)
      at += 6
    }
    guard at == text.count else { return nil }
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second - offset
    return (seconds, Int32(nanoseconds))
  }

  /// Days since 1970-01-01; nil when there is no such date. Years begin in March here, so that a leap day ends one.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64? {
    guard year >= 1, 1...12 ~= month, day >= 1 else { return nil }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let length: Int64 = month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    guard day <= length else { return nil }
    let shifted = month > 2 ? year : year - 1
    let (era, ofEra) = shifted.quotientAndRemainder(dividingBy: 400)
    let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
  }

  /// The moment as RFC 3339 has it, in UTC, with no, three, six or nine digits behind the point.
  package var rfc3339: String {
    // From the first of March of the year 0, so that no part is negative.
    let (day, second) = (seconds + 719_468 * 86_400).quotientAndRemainder(dividingBy: 86_400)
    let (era, ofEra) = day.quotientAndRemainder(dividingBy: 146_097)
    let year = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * year + year / 4 - year / 100)
    let month = (5 * ofYear + 2) / 153
    let date = ofYear - (153 * month + 2) / 5 + 1
    let isNextYear = month >= 10
    func padded(_ number: Int64, _ width: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    var text =
      padded(era * 400 + year + (isNextYear ? 1 : 0), 4) + "-"
      + padded(isNextYear ? month - 9 : month + 3, 2) + "-" + padded(date, 2) + "T"
      + padded(second / 3600, 2) + ":" + padded(second / 60 % 60, 2) + ":" + padded(second % 60, 2)
    if nanoseconds > 0 {
      let (milli, micro) = (nanoseconds % 1_000_000 == 0, nanoseconds % 1000 == 0)
      let (unit, width): (Int32, Int) = milli ? (1_000_000, 3) : micro ? (1000, 6) : (1, 9)
      text += "." + padded(Int64(nanoseconds / unit), width)
    }
    return text + "Z"
  }
}
