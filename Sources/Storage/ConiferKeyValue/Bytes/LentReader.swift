/// Reads encoded numbers and byte strings from lent memory; every read is nil once the bytes do not
/// hold what was asked.
///
/// It is faster than ``ByteReader``, for the loops over whole runs.
package struct LentReader {
  @usableFromInline let bytes: UnsafeRawBufferPointer
  @usableFromInline var at: Int

  @inlinable package init(_ bytes: UnsafeRawBufferPointer, from start: Int = 0) {
    self.bytes = bytes
    self.at = start
  }

  @inlinable package var remaining: Int { bytes.count - at }

  /// The bytes that are still to be read.
  @inlinable package var rest: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[at...])
  }

  /// The next byte, which is not consumed.
  @inlinable package var next: UInt8? { at < bytes.count ? bytes[at] : nil }

  /// Steps over the byte that is next.
  @inlinable package mutating func skip() { at += 1 }

  @inlinable package mutating func byte() -> UInt8? {
    guard at < bytes.count else { return nil }
    defer { at += 1 }
    return bytes[at]
  }

  @inlinable package mutating func varint() -> UInt64? {
    guard at < bytes.count else { return nil }
    let first = bytes[at]
    if first < 0x80 {
      at += 1
      return UInt64(first)
    }
    return longVarint()
  }

  @usableFromInline mutating func longVarint() -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while at < bytes.count, shift < 64 {
      let byte = bytes[at]
      at += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    return nil
  }

  /// A number that counts something in memory.
  @inlinable package mutating func size() -> Int? {
    guard let value = varint(), value <= UInt64(Int32.max) else { return nil }
    return Int(value)
  }

  @inlinable package mutating func zigzag() -> Int64? {
    guard let value = varint() else { return nil }
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  @inlinable package mutating func double() -> Double? {
    guard let eight = take(8) else { return nil }
    return Double(bitPattern: UInt64(littleEndian: eight.loadUnaligned(as: UInt64.self)))
  }

  /// A number of 32 bits, little-endian.
  @inlinable package mutating func word() -> UInt32? {
    guard let four = take(4) else { return nil }
    return UInt32(littleEndian: four.loadUnaligned(as: UInt32.self))
  }

  @inlinable package mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
    guard count >= 0, remaining >= count else { return nil }
    defer { at += count }
    return UnsafeRawBufferPointer(rebasing: bytes[at..<(at + count)])
  }

  /// The bytes of some numbers, undecoded.
  @inlinable package mutating func takeVarints(_ count: Int) -> UnsafeRawBufferPointer? {
    let start = at
    for _ in 0..<count {
      guard varint() != nil else { return nil }
    }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<at])
  }

  /// A length, and that many bytes.
  @inlinable package mutating func sized() -> UnsafeRawBufferPointer? {
    guard let count = size() else { return nil }
    return take(count)
  }

  /// Text that is known to be UTF-8, as it was written.
  @inlinable package mutating func text() -> String? {
    guard let utf8 = sized() else { return nil }
    return String(decoding: utf8, as: UTF8.self)
  }
}
