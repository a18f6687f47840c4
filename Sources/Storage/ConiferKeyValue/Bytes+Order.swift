extension Array where Element == UInt8 {
  /// A copy of lent bytes.
  public init(_ span: RawSpan) {
    self = span.withUnsafeBytes { Array($0) }
  }
}

extension RawSpan {
  /// Orders lent bytes against a byte string as unsigned bytes: negative, zero or positive.
  @inlinable
  public func compare(_ other: Bytes) -> Int {
    let n = min(byteCount, other.count)
    var i = 0
    while i < n {
      let a = unsafeLoad(fromByteOffset: i, as: UInt8.self)
      let b = other[i]
      if a != b { return a < b ? -1 : 1 }
      i += 1
    }
    return byteCount - other.count
  }

  /// Whether the bytes begin with a prefix.
  @inlinable
  public func starts(with prefix: Bytes) -> Bool {
    guard byteCount >= prefix.count else { return false }
    return extracting(first: prefix.count).compare(prefix) == 0
  }
}

/// Whether byte string `a` sorts before `b`, as unsigned bytes.
@inlinable
public func bytesPrecede(_ a: Bytes, _ b: Bytes) -> Bool {
  let n = min(a.count, b.count)
  var i = 0
  while i < n {
    if a[i] != b[i] { return a[i] < b[i] }
    i += 1
  }
  return a.count < b.count
}
