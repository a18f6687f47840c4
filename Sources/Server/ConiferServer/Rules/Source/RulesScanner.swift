import ConiferTree

/// Reads the tokens of a rules file's JSON, which may have comments, commas before a closing brace,
/// and strings over several lines.
struct RulesScanner {
  let bytes: [UInt8]
  private(set) var at = 0
  /// Where each line begins.
  private let lines: [Int]

  /// A scanner of a text.
  ///
  /// - Throws: when the text is too long or not UTF-8.
  init(_ bytes: [UInt8]) throws(RulesError) {
    self.bytes = bytes
    guard bytes.count <= RulesLimits.longestFile else {
      throw RulesError(
        line: 1, column: 1,
        message: "The rules have \(bytes.count) bytes; the limit is \(RulesLimits.longestFile).")
    }
    lines = [0] + bytes.indices.filter { bytes[$0] == 0x0A }.map { $0 + 1 }
    let text = String(decoding: bytes, as: UTF8.self)
    let fault = zip(bytes, text.utf8).enumerated().first { $1.0 != $1.1 }
    if fault != nil || text.utf8.count != bytes.count {
      throw error("The text is not UTF-8.", at: fault?.offset ?? bytes.count)
    }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { at = 3 }
  }

  func error(_ message: String, at offset: Int) -> RulesError {
    let (line, column) = position(of: offset)
    return RulesError(line: line, column: column, message: message)
  }

  /// The line and the column of an offset, counted from 1.
  func position(of offset: Int) -> (line: Int, column: Int) {
    var (from, to) = (0, lines.count - 1)
    while from < to {
      let middle = (from + to + 1) / 2
      if lines[middle] <= offset { from = middle } else { to = middle - 1 }
    }
    return (from + 1, offset - lines[from] + 1)
  }

  /// The next byte that is neither space nor comment; nil at the end.
  mutating func peek() throws(RulesError) -> UInt8? {
    while at < bytes.count {
      switch bytes[at] {
      case 0x20, 0x09, 0x0A, 0x0D: at += 1
      case UInt8(ascii: "/"): try skipComment()
      case let byte: return byte
      }
    }
    return nil
  }

  /// Skips the byte that `peek` returned.
  mutating func advance() { at += 1 }

  /// Consumes a character if it is the next.
  mutating func take(_ character: Unicode.Scalar) throws(RulesError) -> Bool {
    guard try peek() == UInt8(ascii: character) else { return false }
    at += 1
    return true
  }

  /// Consumes a character, which must be the next.
  mutating func expect(_ character: Unicode.Scalar) throws(RulesError) {
    if try !take(character) { throw error("Expected '\(character)'.", at: at) }
  }

  /// Consumes `true` or `false` if one is the next.
  mutating func boolean() throws(RulesError) -> Bool? {
    _ = try peek()
    for (word, value) in [("true", true), ("false", false)]
    where bytes[at...].starts(with: word.utf8) {
      let end = at + word.utf8.count
      if end < bytes.count, ExpressionLexer.isName(bytes[end]) { continue }
      at = end
      return value
    }
    return nil
  }

  private mutating func skipComment() throws(RulesError) {
    let start = at
    let next = at + 1 < bytes.count ? bytes[at + 1] : 0
    if next == UInt8(ascii: "/") {
      at = bytes[at...].firstIndex(of: 0x0A) ?? bytes.count
      return
    }
    guard next == UInt8(ascii: "*") else { throw error("Unexpected '/'.", at: start) }
    at += 2
    while at + 1 < bytes.count {
      if bytes[at] == UInt8(ascii: "*"), bytes[at + 1] == UInt8(ascii: "/") {
        at += 2
        return
      }
      at += 1
    }
    throw error("The comment has no end.", at: start)
  }

  // MARK: Strings

  /// Consumes a string, which must be the next.
  mutating func string() throws(RulesError) -> RulesText {
    guard try peek() == UInt8(ascii: "\"") else { throw error("Expected a string.", at: at) }
    var text = RulesText(start: at)
    at += 1
    while at < bytes.count {
      let byte = bytes[at]
      if byte == UInt8(ascii: "\"") {
        at += 1
        text.end = at
        return text
      }
      if byte == UInt8(ascii: "\\") {
        try escape(into: &text)
      } else {
        text.append(byte, from: at)
        at += 1
      }
    }
    throw error("The string has no end.", at: text.start)
  }

  private mutating func escape(into text: inout RulesText) throws(RulesError) {
    let start = at
    let byte = at + 1 < bytes.count ? bytes[at + 1] : 0
    at += 2
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte, from: start)
    case UInt8(ascii: "b"): text.append(0x08, from: start)
    case UInt8(ascii: "f"): text.append(0x0C, from: start)
    case UInt8(ascii: "n"): text.append(0x0A, from: start)
    case UInt8(ascii: "r"): text.append(0x0D, from: start)
    case UInt8(ascii: "t"): text.append(0x09, from: start)
    case UInt8(ascii: "u"):
      var unit = try hexUnit(start)
      if unit & 0xFC00 == 0xD800, at + 1 < bytes.count, bytes[at] == UInt8(ascii: "\\"),
        bytes[at + 1] == UInt8(ascii: "u")
      {
        at += 2
        let low = try hexUnit(start)
        guard low & 0xFC00 == 0xDC00 else { throw error("Half of a surrogate pair.", at: start) }
        unit = 0x10000 + (unit & 0x3FF) << 10 + low & 0x3FF
      }
      guard let scalar = Unicode.Scalar(unit) else {
        throw error("Half of a surrogate pair.", at: start)
      }
      for byte in String(scalar).utf8 { text.append(byte, from: start) }
    default: throw error("There is no such escape in JSON.", at: start)
    }
  }

  private mutating func hexUnit(_ start: Int) throws(RulesError) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard at < bytes.count, let digit = bytes[at].hexDigit else {
        throw error("\\u is followed by four hexadecimal digits.", at: start)
      }
      unit = unit << 4 | UInt32(digit)
      at += 1
    }
    return unit
  }
}

/// A string of a rules file, with the position of each byte in the file.
struct RulesText {
  /// Its bytes, without quotes and escapes.
  private(set) var bytes: [UInt8] = []
  private var origins: [Int32] = []
  /// The position of its opening quote.
  let start: Int
  /// The position after its closing quote.
  var end: Int

  init(start: Int) {
    self.start = start
    end = start
  }

  var string: String { String(decoding: bytes, as: UTF8.self) }

  mutating func append(_ byte: UInt8, from offset: Int) {
    bytes.append(byte)
    origins.append(Int32(truncatingIfNeeded: offset))
  }

  /// The position of a byte of the string in the file; the closing quote's for the index after the
  /// last.
  func origin(_ index: Int) -> Int {
    index < origins.count ? Int(origins[index]) : end - 1
  }
}
