/// Appends numbers and byte strings to lent memory; what does not fit is left out, and `isOverfull`
/// is set.
///
/// It is faster than ``ByteWriter``, for callers that know a bound of the result's size.
package struct LentWriter {
  @usableFromInline let bytes: UnsafeMutableRawBufferPointer
  package var count = 0
  package var isOverfull = false

  @inlinable package init(_ bytes: UnsafeMutableRawBufferPointer) { self.bytes = bytes }

  /// The written bytes.
  @inlinable package var written: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[..<count])
  }

  @inlinable package mutating func byte(_ value: UInt8) {
    guard count < bytes.count else { return isOverfull = true }
    bytes[count] = value
    count += 1
  }

  @inlinable package mutating func append(_ other: UnsafeRawBufferPointer) {
    guard other.count <= bytes.count - count else { return isOverfull = true }
    UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyMemory(from: other)
    count += other.count
  }

  /// LEB128, as ``ByteWriter`` writes it.
  @inlinable package mutating func varint(_ value: Int) {
    var rest = UInt64(max(0, value))
    while rest >= 0x80 {
      byte(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    byte(UInt8(truncatingIfNeeded: rest))
  }
}
