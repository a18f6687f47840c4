#if Encryption
  import ConiferKeyValue
  import Crypto

  /// Records of the layer itself: the header, the sessions, the wrapped keys of scopes.
  ///
  /// Each ends in eight bytes of SHA-256 over its key and what stands before, so that damage is told
  /// from a wrong key.
  enum LayerRecord {
    static let headerKey: Bytes = [UInt8(ascii: "h")]
    static let sessions: Bytes = [UInt8(ascii: "s")]
    static let scopes: Bytes = [UInt8(ascii: "k")]

    static func sessionKey(_ number: UInt32) -> Bytes { sessions + bigEndian(number) }

    /// The number of a session's key, or nil when the key is no such.
    static func session(_ key: Bytes) -> UInt32? {
      key.count == 5 ? number(key[1...]) : nil
    }

    /// Key: `k`, the length of the scope's prefix in two bytes, the prefix, the first session.
    static func scopeKey(_ scope: StoreScope, _ first: UInt32) -> Bytes {
      let count = scope.prefix.count
      return scopes + [UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
        + scope.prefix + bigEndian(first)
    }

    /// The scope and the first session of a wrapped key's key, or nil when the key is no such.
    static func scope(_ key: Bytes) -> (scope: StoreScope, first: UInt32)? {
      guard key.count >= 7 else { return nil }
      let end = 3 + (Int(key[1]) << 8 | Int(key[2]))
      guard key.count == end + 4 else { return nil }
      return (StoreScope(prefix: Bytes(key[3..<end])), number(key[end...]))
    }

    static func seal(_ key: Bytes, _ payload: Bytes) -> Bytes { payload + digest(key, payload) }

    /// The payload of a stored record, or nil when the bytes are not what was stored.
    static func open(_ key: Bytes, _ value: Bytes) -> Bytes? {
      guard value.count >= 8 else { return nil }
      let payload = Bytes(value.dropLast(8))
      return digest(key, payload) == Bytes(value.suffix(8)) ? payload : nil
    }

    private static func digest(_ key: Bytes, _ payload: Bytes) -> Bytes {
      Bytes(SHA256.hash(data: key + payload).prefix(8))
    }

    static func bigEndian(_ number: UInt32) -> Bytes {
      [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
      bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }
  }
#endif
