/// Appends numbers and byte strings in the encodings of the record formats.
package struct ByteWriter {
  /// The bytes written so far.
  package var bytes: Bytes

  /// A writer that begins with some bytes.
  @inlinable package init(_ bytes: Bytes = []) { self.bytes = bytes }

  /// How many bytes there are.
  @inlinable package var count: Int { bytes.count }

  @inlinable package mutating func byte(_ value: UInt8) { bytes.append(value) }

  @inlinable package mutating func append(_ other: Bytes) { bytes.append(contentsOf: other) }

  @inlinable package mutating func append(_ other: Bytes, _ range: Range<Int>) {
    bytes.append(contentsOf: other[range])
  }

  @inlinable package mutating func append(_ other: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: other)
  }

  /// Removes the bytes after a count.
  package mutating func truncate(to count: Int) { bytes.removeLast(bytes.count - count) }

  package mutating func reserveCapacity(_ count: Int) { bytes.reserveCapacity(bytes.count + count) }

  /// LEB128: seven bits a byte, low ones first.
  @inlinable package mutating func varint(_ value: UInt64) {
    if value < 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: value))
    } else {
      longVarint(value)
    }
  }

  @usableFromInline mutating func longVarint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  @inlinable package mutating func varint(_ value: Int) { varint(UInt64(max(0, value))) }

  /// A signed number, small ones of either sign in few bytes.
  package mutating func zigzag(_ value: Int64) {
    varint(UInt64(bitPattern: value << 1 ^ value >> 63))
  }

  package mutating func bigEndian(_ value: UInt64, bytes count: Int = 8) {
    for shift in stride(from: (count - 1) * 8, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(shift)))
    }
  }

  package mutating func littleEndian(_ value: UInt64, bytes count: Int = 8) {
    for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(index * 8))) }
  }

  /// A length and then the bytes.
  package mutating func sized(_ other: Bytes) {
    varint(other.count)
    bytes.append(contentsOf: other)
  }

  package mutating func sized(_ text: String) {
    var text = text
    text.withUTF8 { utf8 in
      varint(utf8.count)
      bytes.append(contentsOf: utf8)
    }
  }
}
