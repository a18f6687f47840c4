extension Array where Element == UInt8 {
  /// Its bytes as two hexadecimal digits each, for people.
  package var hex: String {
    let digits = [Character]("0123456789abcdef")
    return map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }.joined()
  }
}

extension UInt64 {
  /// Its sixteen hexadecimal digits.
  package var hex: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}
