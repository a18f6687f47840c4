/// The standard base-64 text of bytes (RFC 4648 section 4), with padding.
enum Base64 {
  private static let alphabet = [UInt8](
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var i = 0
    while i < bytes.count {
      let left = min(3, bytes.count - i)
      var bits: UInt32 = 0
      for j in 0..<3 { bits = bits << 8 | (j < left ? UInt32(bytes[i + j]) : 0) }
      for j in 0..<4 {
        let digit = Int(bits >> UInt32(18 - 6 * j)) & 63
        text.append(j <= left ? alphabet[digit] : UInt8(ascii: "="))
      }
      i += 3
    }
    return String(decoding: text, as: UTF8.self)
  }
}
