/// Reads what ``ByteWriter`` wrote; every read is nil once the bytes do not hold what was asked.
package struct ByteReader {
  /// The bytes to read.
  package let bytes: Bytes
  /// How far it was read.
  package private(set) var at: Int
  package let end: Int

  package init(_ bytes: Bytes, from start: Int = 0) {
    self.bytes = bytes
    self.at = start
    self.end = bytes.count
  }

  package init(_ bytes: Bytes, _ range: Range<Int>) {
    self.bytes = bytes
    self.at = range.lowerBound
    self.end = range.upperBound
  }

  /// How many bytes are left.
  package var remaining: Int { end - at }
  /// Whether all was read.
  package var isAtEnd: Bool { at >= end }

  package mutating func byte() -> UInt8? {
    guard at < end else { return nil }
    defer { at += 1 }
    return bytes[at]
  }

  package mutating func varint() -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while at < end, shift < 64 {
      let byte = bytes[at]
      at += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    return nil
  }

  /// A number that counts something in memory.
  package mutating func size() -> Int? {
    guard let value = varint(), value <= UInt64(Int32.max) else { return nil }
    return Int(value)
  }

  package mutating func zigzag() -> Int64? {
    guard let value = varint() else { return nil }
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  package mutating func bigEndian(bytes count: Int = 8) -> UInt64? {
    guard remaining >= count else { return nil }
    var value: UInt64 = 0
    for _ in 0..<count {
      value = value << 8 | UInt64(bytes[at])
      at += 1
    }
    return value
  }

  package mutating func littleEndian(bytes count: Int = 8) -> UInt64? {
    guard remaining >= count else { return nil }
    var value: UInt64 = 0
    for index in 0..<count { value |= UInt64(bytes[at + index]) << UInt64(index * 8) }
    at += count
    return value
  }

  package mutating func double() -> Double? {
    littleEndian().map { Double(bitPattern: $0) }
  }

  package mutating func take(_ count: Int) -> Bytes? {
    guard count >= 0, remaining >= count else { return nil }
    defer { at += count }
    return Bytes(bytes[at..<(at + count)])
  }

  package mutating func skip(_ count: Int) -> Range<Int>? {
    guard count >= 0, remaining >= count else { return nil }
    defer { at += count }
    return at..<(at + count)
  }

  package mutating func sized() -> Bytes? {
    guard let count = size() else { return nil }
    return take(count)
  }

  package mutating func text() -> String? {
    guard let count = size(), let range = skip(count) else { return nil }
    return String(validating: bytes[range], as: UTF8.self)
  }
}
