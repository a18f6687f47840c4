extension Array where Element == UInt8 {
  /// Its bytes as two hexadecimal digits each, for people.
  package var hex: String {
    let digits = [Character]("0123456789abcdef")
    return map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }.joined()
  }
}
