package import ConiferKeyValue

/// The envelope of every stored value: a checksum over space, key and payload, then the payload.
///
/// The checksum also detects a record that was written for another key.
package enum Record {
  /// How many bytes the envelope adds.
  package static let overhead = 4

  /// The value that stores a payload under a key.
  ///
  /// - Parameter rest: the second part of the payload, when it has two.
  package static func seal(
    _ space: Space, _ key: Bytes, _ payload: Bytes, _ rest: Bytes = []
  ) -> Bytes {
    let size = overhead + payload.count + rest.count
    return Bytes(unsafeUninitializedCapacity: size) { buffer, count in
      let bytes = UnsafeMutableRawBufferPointer(buffer)
      var writer = LentWriter(UnsafeMutableRawBufferPointer(rebasing: bytes[overhead...]))
      payload.withUnsafeBytes { writer.append($0) }
      rest.withUnsafeBytes { writer.append($0) }
      let sum = key.withUnsafeBytes { checksum(space, $0, writer.written) }
      bytes.storeBytes(of: sum.littleEndian, as: UInt32.self)
      count = size
    }
  }

  /// The payload of a stored value, or nil when the bytes are not what was stored.
  package static func open(_ space: Space, _ key: Bytes, _ value: Bytes) -> Bytes? {
    isIntact(space, key, value) ? Bytes(value[overhead...]) : nil
  }

  /// Whether a stored value is what was stored under this key.
  package static func isIntact(_ space: Space, _ key: Bytes, _ value: Bytes) -> Bool {
    value.withUnsafeBytes { isIntact(space, key, $0) }
  }

  /// Whether a lent value is what was stored under this key.
  package static func isIntact(
    _ space: Space, _ key: Bytes, _ value: UnsafeRawBufferPointer
  ) -> Bool {
    key.withUnsafeBytes { isIntact(space, $0, value) }
  }

  /// Whether a lent value is what was stored under this lent key.
  package static func isIntact(
    _ space: Space, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) -> Bool {
    guard value.count >= overhead else { return false }
    let stored = UInt32(littleEndian: value.loadUnaligned(as: UInt32.self))
    return stored == checksum(space, key, UnsafeRawBufferPointer(rebasing: value[overhead...]))
  }

  private static func checksum(
    _ space: Space, _ key: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer
  ) -> UInt32 {
    let seed = XXHash64.hash(key, seed: UInt64(space.id))
    return UInt32(truncatingIfNeeded: XXHash64.hash(payload, seed: seed))
  }
}
