extension JSONReader {
  /// Replaces the consumed chunk by the next non-empty one.
  /// - Returns: False when the source has ended.
  mutating func refill() throws(JSONError) -> Bool {
    while let source {
      base += buffer.count
      position = 0
      buffer.removeAll(keepingCapacity: true)
      do {
        if try !source(&buffer) { self.source = nil }
      } catch {
        throw JSONError(
          code: .source, line: line, column: max(1, base - lineStart + 1),
          message: "the source of the text failed; mend it and read again", cause: error)
      }
      if !buffer.isEmpty { return true }
    }
    return false
  }

  /// Takes the next byte of the text, or nil at its end.
  mutating func takeByte() throws(JSONError) -> UInt8? {
    if position == buffer.count, try !refill() { return nil }
    position += 1
    return buffer[position - 1]
  }

  /// Skips whitespace and marks where a token starts; its first byte is not taken.
  mutating func nextToken() throws(JSONError) -> UInt8? {
    while true {
      if position < buffer.count {
        // Most tokens follow the one before them at once.
        let byte = buffer[position]
        if byte > 0x20 {
          offset = base + position
          return byte
        }
        let start = position
        let (end, lines, last) = buffer.withUnsafeBufferPointer {
          JSONBytes.endOfWhitespace($0, from: start)
        }
        position = end
        if lines > 0 {
          line += lines
          lineStart = base + last + 1
        }
        if end < buffer.count {
          offset = base + end
          return buffer[end]
        }
      }
      if try !refill() {
        offset = base + position
        return nil
      }
    }
  }

  /// Skips the byte order mark EF BB BF at the start of the text, and reports UTF-16.
  mutating func skipByteOrderMark() throws(JSONError) {
    if buffer.isEmpty { _ = try refill() }
    guard let first = buffer.first else { return }
    if first == 0 || first >= 0xFE { throw notUTF8() }
    guard first == 0xEF else { return }
    for expected: UInt8 in [0xEF, 0xBB, 0xBF] {
      guard try takeByte() == expected else {
        throw error(
          .unexpectedByte, at: 0,
          "the text starts with bytes that are neither JSON nor a whole UTF-8 byte order mark; "
            + "save it as UTF-8")
      }
    }
    lineStart = 3
  }

  func notUTF8() -> JSONError {
    error(.invalidUTF8, at: 0, "the text is not in UTF-8 but looks like UTF-16; save it as UTF-8")
  }

  /// An error at an offset in the current line.
  func error(_ code: JSONError.Code, at offset: Int, _ message: String) -> JSONError {
    JSONError(code: code, line: line, column: max(1, offset - lineStart + 1), message: message)
  }

  /// The error for a byte that cannot start what the grammar wants.
  func unexpected(_ byte: UInt8, wanted: String) -> JSONError {
    if byte == 0, offset < 4 { return notUTF8() }
    let name =
      byte > 0x20 && byte < 0x7F
      ? "'\(Character(UnicodeScalar(byte)))'"
      : "the byte 0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    let wanted = state == .firstElement || state == .firstKey ? expectation() : wanted
    return error(.unexpectedByte, at: offset, "found \(name) where \(wanted) belongs")
  }

  /// The error for a text that stops too early.
  func endOfText() -> JSONError {
    if stack.isEmpty, state == .value {
      return error(.empty, at: offset, "the text holds no value; write at least `null`")
    }
    return error(
      .unexpectedEnd, at: offset,
      "the text ends where \(expectation()) belongs, with \(stack.count) arrays and objects open; "
        + "it may have been cut short")
  }
}
