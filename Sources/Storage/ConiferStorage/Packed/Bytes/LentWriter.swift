/// Appends numbers and byte strings to lent memory; what does not fit is left out, and noticed.
///
/// The fast sibling of ``ByteWriter``, where it is known before how much will come.
struct LentWriter {
  private let bytes: UnsafeMutableRawBufferPointer
  private(set) var count = 0
  private(set) var isOverfull = false

  init(_ bytes: UnsafeMutableRawBufferPointer) { self.bytes = bytes }

  /// What was written.
  var written: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[..<count]) }

  @inline(__always)
  mutating func byte(_ value: UInt8) {
    guard count < bytes.count else { return isOverfull = true }
    bytes[count] = value
    count += 1
  }

  @inline(__always)
  mutating func append(_ other: UnsafeRawBufferPointer) {
    guard other.count <= bytes.count - count else { return isOverfull = true }
    UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyMemory(from: other)
    count += other.count
  }

  /// LEB128, as ``ByteWriter`` writes it.
  @inline(__always)
  mutating func varint(_ value: Int) {
    var rest = UInt64(max(0, value))
    while rest >= 0x80 {
      byte(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    byte(UInt8(truncatingIfNeeded: rest))
  }
}
