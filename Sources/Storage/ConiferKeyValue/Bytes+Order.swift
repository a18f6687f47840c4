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
    withUnsafeBytes { left in other.withUnsafeBytes { compareBytes(left, $0) } }
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
  compareBytes(a, b) < 0
}
