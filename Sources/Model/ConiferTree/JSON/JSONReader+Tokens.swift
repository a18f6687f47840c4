extension JSONReader {
  /// Reads `true`, `false` or `null`, whose first byte has been seen.
  mutating func readLiteral(_ literal: StaticString) throws(JSONError) {
    for index in 0..<literal.utf8CodeUnitCount {
      let byte = try takeByte()
      guard byte == literal.utf8Start[index] else {
        let code = byte == nil ? JSONError.Code.unexpectedEnd : .unexpectedByte
        throw error(code, at: offset + index, "this is no value; did you mean `\(literal)`?")
      }
    }
    endValue()
  }

  /// Reads a number, whose first byte has been seen.
  mutating func readNumber() throws(JSONError) -> JSONEvent {
    let start = position
    let end = buffer.withUnsafeBufferPointer { JSONBytes.endOfNumber($0, from: start) }
    position = end
    if end < buffer.count || source == nil {
      guard end - start <= limits.numberBytes else { throw tooLong("number", limits.numberBytes) }
      return try event(
        of: buffer.withUnsafeBufferPointer { JSONNumber.parse(.init(rebasing: $0[start..<end])) })
    }
    scratch.removeAll(keepingCapacity: true)
    scratch.append(contentsOf: buffer[start..<end])
    while position == buffer.count, try refill() {
      let end = buffer.withUnsafeBufferPointer { JSONBytes.endOfNumber($0, from: 0) }
      scratch.append(contentsOf: buffer[..<end])
      position = end
      guard scratch.count <= limits.numberBytes else {
        throw tooLong("number", limits.numberBytes)
      }
    }
    return try event(of: scratch.withUnsafeBufferPointer { JSONNumber.parse($0) })
  }

  private mutating func event(of number: JSONNumber.Parsed) throws(JSONError) -> JSONEvent {
    isLargeInteger = false
    switch number {
    case .integer(let value): return .integer(value)
    case .double(let value): return .double(value)
    case .largeInteger(let value):
      isLargeInteger = true
      return .double(value)
    case .invalid(let index):
      throw error(
        .invalidNumber, at: offset + index,
        "this is not a number of JSON: digits without a leading zero, then perhaps a fraction and "
          + "an exponent, each with at least one digit")
    case .outOfRange:
      throw error(
        .numberOutOfRange, at: offset,
        "the number is beyond the range of a double; write it as a string")
    }
  }

  /// Reads a string, whose opening quote has been seen.
  mutating func readString() throws(JSONError) -> String {
    position += 1
    let start = position
    var stop = buffer.withUnsafeBufferPointer { JSONBytes.endOfPlain($0, from: start) }
    if stop < buffer.count, buffer[stop] == JSONBytes.quote {
      guard stop - start <= limits.stringBytes else { throw tooLong("string", limits.stringBytes) }
      position = stop + 1
      return try text(of: buffer, in: start..<stop, at: base + start)
    }

    scratch.removeAll(keepingCapacity: true)
    // Raw bytes between two escapes must be whole characters, so each such stretch is checked.
    var stretch = (start: 0, offset: base + start)
    while true {
      scratch.append(contentsOf: buffer[position..<stop])
      position = stop
      guard scratch.count <= limits.stringBytes else {
        throw tooLong("string", limits.stringBytes)
      }
      if position == buffer.count {
        guard try refill() else { throw unterminated() }
      } else {
        let byte = buffer[position]
        position += 1
        if byte == JSONBytes.quote { break }
        guard byte == JSONBytes.backslash else {
          throw error(
            .controlCharacter, at: base + position - 1,
            "a string holds the raw control character 0x\(String(byte, radix: 16)); escape it")
        }
        try checkUTF8(scratch, in: stretch.start..<scratch.count, at: stretch.offset)
        try readEscape()
        stretch = (scratch.count, base + position)
      }
      let from = position
      stop = buffer.withUnsafeBufferPointer { JSONBytes.endOfPlain($0, from: from) }
    }
    try checkUTF8(scratch, in: stretch.start..<scratch.count, at: stretch.offset)
    return String(decoding: scratch, as: UTF8.self)
  }

  private func text(
    of bytes: [UInt8], in range: Range<Int>, at start: Int
  ) throws(JSONError) -> String {
    try checkUTF8(bytes, in: range, at: start)
    return bytes.withUnsafeBufferPointer {
      String(decoding: UnsafeBufferPointer(rebasing: $0[range]), as: UTF8.self)
    }
  }

  /// Reads an escape after its backslash and appends the bytes that it represents.
  private mutating func readEscape() throws(JSONError) {
    let start = base + position - 1
    var kind = try takeEscaped()
    while kind == UInt8(ascii: "u") {
      var value = UInt32(try readHex(start))
      while value & 0xFC00 == 0xD800 {
        guard let byte = try takeByte() else { throw unterminated() }
        guard byte == JSONBytes.backslash else {
          position -= 1
          return try appendScalar(value, start)
        }
        kind = try takeEscaped()
        guard kind == UInt8(ascii: "u") else { break }
        let low = UInt32(try readHex(start))
        if low & 0xFC00 == 0xDC00 {
          return try appendScalar(0x10000 + (value - 0xD800) << 10 + (low - 0xDC00), start)
        }
        try appendScalar(value, start)
        value = low
      }
      try appendScalar(value, start)
      // After a lone half of a surrogate pair, the next escape is read.
      if kind == UInt8(ascii: "u") { return }
    }
    switch kind {
    case JSONBytes.quote, JSONBytes.backslash, UInt8(ascii: "/"): scratch.append(kind)
    case UInt8(ascii: "b"): scratch.append(0x08)
    case UInt8(ascii: "f"): scratch.append(0x0C)
    case UInt8(ascii: "n"): scratch.append(0x0A)
    case UInt8(ascii: "r"): scratch.append(0x0D)
    case UInt8(ascii: "t"): scratch.append(0x09)
    default:
      throw error(
        .invalidEscape, at: start,
        "after a backslash only \" \\ / b f n r t and u with four hex digits are allowed")
    }
  }

  private mutating func takeEscaped() throws(JSONError) -> UInt8 {
    guard let byte = try takeByte() else { throw unterminated() }
    return byte
  }

  /// Appends a character, or the replacement of half a surrogate pair.
  private mutating func appendScalar(_ value: UInt32, _ start: Int) throws(JSONError) {
    guard let scalar = UnicodeScalar(value) ?? (limits.replacesLoneSurrogates ? "\u{FFFD}" : nil)
    else { throw loneSurrogate(start) }
    if let encoded = UTF8.encode(scalar) { scratch.append(contentsOf: encoded) }
  }

  private mutating func readHex(_ start: Int) throws(JSONError) -> UInt16 {
    var value: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = try takeByte() else { throw unterminated() }
      guard let digit = byte.hexDigit else {
        throw error(.invalidEscape, at: start, "\\u needs four hexadecimal digits")
      }
      value = value << 4 | UInt16(digit)
    }
    return value
  }

  private func checkUTF8(
    _ bytes: [UInt8], in range: Range<Int>, at start: Int
  ) throws(JSONError) {
    let fault = bytes.withUnsafeBufferPointer {
      JSONBytes.firstInvalidUTF8(UnsafeBufferPointer(rebasing: $0[range]))
    }
    guard let index = fault else { return }
    throw error(
      .invalidUTF8, at: start + index,
      "the string holds bytes that are not UTF-8; save the text as UTF-8")
  }

  private func loneSurrogate(_ start: Int) -> JSONError {
    error(
      .loneSurrogate, at: start,
      "the escape is half of a surrogate pair; write both halves, high one first, or U+FFFD")
  }

  private func unterminated() -> JSONError {
    error(
      .unexpectedEnd, at: base + position,
      "the text ends inside a string; it may have been cut short")
  }

  private func tooLong(_ kind: String, _ limit: Int) -> JSONError {
    error(
      .tooLong, at: offset,
      "the \(kind) is longer than \(limit) bytes; split it or raise the reader's limit")
  }
}
