extension RulesScanner {
  /// The text as strict JSON: without comments and commas before a closing brace, and with escaped
  /// control characters in strings.
  ///
  /// - Parameter bytes: a rules file that was read without an error.
  static func strict(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    do throws(RulesError) {
      var scanner = try RulesScanner(bytes)
      while let byte = try scanner.peek() {
        if byte == UInt8(ascii: "\"") {
          let text = try scanner.string()
          for byte in bytes[text.start..<text.end] { append(byte, to: &result) }
          continue
        }
        if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]"),
          result.last == UInt8(ascii: ",")
        {
          result.removeLast()
        }
        result.append(byte)
        scanner.advance()
      }
    } catch {
      return bytes
    }
    return result
  }

  private static func append(_ byte: UInt8, to result: inout [UInt8]) {
    switch byte {
    case 0x0A: result.append(contentsOf: "\\n".utf8)
    case 0x0D: result.append(contentsOf: "\\r".utf8)
    case 0x09: result.append(contentsOf: "\\t".utf8)
    case 0..<0x20:
      result.append(contentsOf: "\\u00".utf8)
      let digits = Array("0123456789abcdef".utf8)
      result.append(digits[Int(byte >> 4)])
      result.append(digits[Int(byte & 15)])
    default: result.append(byte)
    }
  }
}
