// Strings of documents are compared by their UTF-8 bytes, never by Swift's canonical equivalence:
// a composed and a decomposed "é" are two different strings.
extension String {
  /// Lends the UTF-8 bytes, without a copy when the string is native.
  @inlinable @inline(__always)
  func lendUTF8<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
    if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
    return ContiguousArray(utf8).withUnsafeBufferPointer(body)
  }

  /// Whether both strings are the same bytes.
  func hasSameBytes(as other: String) -> Bool {
    lendUTF8 { a in other.lendUTF8 { b in a.count == b.count && compareBytes(a, b) == 0 } }
  }

  /// Orders two strings by their bytes: negative, zero or positive.
  func compareUTF8(_ other: String) -> Int {
    lendUTF8 { a in other.lendUTF8 { b in compareBytes(a, b) } }
  }

  /// Feeds the bytes and a terminator that no UTF-8 text holds.
  func hashBytes(into hasher: inout Hasher) {
    lendUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(UInt8.max)
  }
}

/// The offset of the first byte that differs, or the shorter length.
func firstDifference(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Int {
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

/// Orders bytes as unsigned numbers, a prefix first: negative, zero or positive.
func compareBytes(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Int {
  let i = firstDifference(a, b)
  guard i < a.count, i < b.count else { return a.count - b.count }
  return a[i] < b[i] ? -1 : 1
}
