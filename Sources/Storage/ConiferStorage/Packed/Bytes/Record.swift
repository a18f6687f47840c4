import ConiferKeyValue

/// The envelope of every stored value: a checksum over space, key and payload, then the payload.
///
/// The checksum also tells a record that was written for another key.
enum Record {
  /// How many bytes the envelope adds.
  static let overhead = 4

  /// The value that stores a payload under a key.
  static func seal(_ space: Space, _ key: Bytes, _ payload: Bytes) -> Bytes {
    var value = Bytes()
    value.reserveCapacity(payload.count + overhead)
    let sum = payload.withUnsafeBytes { checksum(space, key, $0) }
    for shift in [0, 8, 16, 24] as [UInt32] {
      value.append(UInt8(truncatingIfNeeded: sum >> shift))
    }
    value.append(contentsOf: payload)
    return value
  }

  /// The payload of a stored value, or nil when the bytes are not what was stored.
  static func open(_ space: Space, _ key: Bytes, _ value: Bytes) -> Bytes? {
    isIntact(space, key, value) ? Bytes(value[overhead...]) : nil
  }

  /// Whether a stored value is what was stored under this key.
  static func isIntact(_ space: Space, _ key: Bytes, _ value: Bytes) -> Bool {
    guard value.count >= overhead else { return false }
    return value.withUnsafeBytes { bytes in
      let stored = UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
      return stored == checksum(space, key, UnsafeRawBufferPointer(rebasing: bytes[overhead...]))
    }
  }

  private static func checksum(
    _ space: Space, _ key: Bytes, _ payload: UnsafeRawBufferPointer
  ) -> UInt32 {
    let seed = XXHash64.hash(key, seed: UInt64(space.id))
    return UInt32(truncatingIfNeeded: XXHash64.hash(payload, seed: seed))
  }
}
