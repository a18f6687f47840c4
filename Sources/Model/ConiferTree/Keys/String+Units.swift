// Strings of the tree are compared by their code units, never by Swift's canonical equivalence:
// a composed and a decomposed "é" are two different keys.
extension String {
  /// Lends the UTF-8 bytes without a copy when the string is native.
  @inlinable @inline(__always)
  func lendUTF8<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
    if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
    return ContiguousArray(utf8).withUnsafeBufferPointer(body)
  }

  /// Whether both strings are the same UTF-8 bytes.
  func hasSameUnits(as other: String) -> Bool {
    lendUTF8 { a in
      other.lendUTF8 { b in a.count == b.count && firstDifference(a, b) == a.count }
    }
  }

  /// Orders two strings by UTF-16 code units: negative, zero or positive.
  func compareUnits(_ other: String) -> Int {
    lendUTF8 { a in
      other.lendUTF8 { b in
        let i = firstDifference(a, b)
        guard i < a.count, i < b.count else { return a.count - b.count }
        return utf16Weight(a[i]) < utf16Weight(b[i]) ? -1 : 1
      }
    }
  }

  /// Feeds the UTF-8 bytes and a terminator that no UTF-8 text holds.
  func hashUnits(into hasher: inout Hasher) {
    lendUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(UInt8.max)
  }
}

/// The place of a UTF-8 byte in UTF-16 order.
///
/// The two orders differ in one point: scalars above U+FFFF (lead bytes F0...F4) are surrogates
/// in UTF-16 and sort before U+E000...U+FFFF (lead bytes EE and EF).
@inline(__always)
func utf16Weight(_ byte: UInt8) -> UInt8 {
  byte == 0xEE || byte == 0xEF ? byte &+ 16 : byte
}

/// The offset of the first byte that differs, or the shorter length.
@inline(__always)
private func firstDifference(
  _ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>
) -> Int {
  let count = min(a.count, b.count)
  let (x, y) = (UnsafeRawBufferPointer(a), UnsafeRawBufferPointer(b))
  var i = 0
  while i &+ 8 <= count {
    let left = x.loadUnaligned(fromByteOffset: i, as: UInt64.self)
    let right = y.loadUnaligned(fromByteOffset: i, as: UInt64.self)
    if left != right { return i &+ (UInt64(littleEndian: left ^ right).trailingZeroBitCount >> 3) }
    i &+= 8
  }
  while i < count, a[i] == b[i] { i &+= 1 }
  return i
}
