import ConiferKeyValue

extension ByteReader {
  /// A number that counts bytes or entries.
  mutating func int() -> Int? { varint().flatMap { Int(exactly: $0) } }

  /// A number of 32 bits as a varint.
  mutating func short() -> UInt32? { varint().flatMap { UInt32(exactly: $0) } }
}

extension XXHash64 {
  /// The low half of the hash, for values and edits.
  static func short(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    UInt32(truncatingIfNeeded: hash(bytes))
  }
}
