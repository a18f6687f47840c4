/// Scanning of raw bytes, the inner loops of the reader and the writer.
enum JSONBytes {
  static let quote = UInt8(ascii: "\"")
  static let backslash = UInt8(ascii: "\\")

  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let highs: UInt64 = 0x8080_8080_8080_8080

  /// The index of the first byte at or after `start` that ends a plain run of a string (a quote, a
  /// backslash or a control character), or the count.
  ///
  /// Eight bytes are tried at once. A borrow may mark a byte above a true hit, never below one, so
  /// the lowest mark is right.
  static func endOfPlain(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    var index = start
    let count = bytes.count
    let raw = UnsafeRawBufferPointer(bytes)
    while index + 8 <= count {
      let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      let quotes = word ^ (ones &* 0x22)
      let slashes = word ^ (ones &* 0x5c)
      let marks =
        ((quotes &- ones) & ~quotes) | ((slashes &- ones) & ~slashes)
        | ((word &- (ones &* 0x20)) & ~word)
      let hit = marks & highs
      if hit != 0 { return index + hit.trailingZeroBitCount / 8 }
      index += 8
    }
    while index < count {
      let byte = bytes[index]
      if byte < 0x20 || byte == quote || byte == backslash { return index }
      index += 1
    }
    return index
  }

  /// The index of the first byte that does not start a well-formed UTF-8 sequence, or nil. Overlong
  /// forms, surrogates, values above U+10FFFF and truncated sequences are malformed.
  static func firstInvalidUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    let raw = UnsafeRawBufferPointer(bytes)
    let count = bytes.count
    var index = 0
    while index < count {
      if index + 8 <= count,
        raw.loadUnaligned(fromByteOffset: index, as: UInt64.self) & highs == 0
      {
        index += 8
        continue
      }
      let lead = bytes[index]
      if lead < 0x80 {
        index += 1
        continue
      }
      let length: Int
      var second: ClosedRange<UInt8> = 0x80...0xBF
      switch lead {
      case 0xC2...0xDF: length = 2
      case 0xE0: (length, second) = (3, 0xA0...0xBF)
      case 0xED: (length, second) = (3, 0x80...0x9F)
      case 0xE1...0xEF: length = 3
      case 0xF0: (length, second) = (4, 0x90...0xBF)
      case 0xF1...0xF3: length = 4
      case 0xF4: (length, second) = (4, 0x80...0x8F)
      default: return index
      }
      guard index + length <= count, second.contains(bytes[index + 1]) else { return index }
      for offset in 2..<max(length, 2) where bytes[index + offset] & 0xC0 != 0x80 { return index }
      index += length
    }
    return nil
  }

  /// Where the whitespace at `start` ends, how many line feeds it holds, and the last one's index.
  static func endOfWhitespace(
    _ bytes: UnsafeBufferPointer<UInt8>, from start: Int
  ) -> (end: Int, lines: Int, lastLineFeed: Int) {
    var index = start
    var lines = 0
    var last = 0
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
      case UInt8(ascii: "\n"):
        lines += 1
        last = index
      default: return (index, lines, last)
      }
      index += 1
    }
    return (index, lines, last)
  }

  /// Where the characters that a number may hold end, from `start` on.
  static func endOfNumber(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    var index = start
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"),
        UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
        index += 1
      default: return index
      }
    }
    return index
  }
}
