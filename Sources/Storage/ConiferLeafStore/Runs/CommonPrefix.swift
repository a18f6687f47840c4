package import ConiferKeyValue

/// How many leading bytes two byte strings share.
package func commonPrefix(_ a: Bytes, _ b: Bytes) -> Int {
  a.withUnsafeBytes { a in b.withUnsafeBytes { commonPrefix(a, $0) } }
}

/// How many leading bytes two lent byte strings share.
package func commonPrefix(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
  let most = min(a.count, b.count)
  var n = 0
  while n + 8 <= most {
    let left = a.loadUnaligned(fromByteOffset: n, as: UInt64.self)
    let right = b.loadUnaligned(fromByteOffset: n, as: UInt64.self)
    if left != right { return n + UInt64(littleEndian: left ^ right).trailingZeroBitCount / 8 }
    n += 8
  }
  while n < most, a[n] == b[n] { n += 1 }
  return n
}
