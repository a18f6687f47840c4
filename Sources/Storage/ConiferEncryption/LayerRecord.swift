#if Encryption
  import ConiferKeyValue
  import Crypto

  /// Records of the layer itself: the header, the sessions, the wrapped keys of scopes.
  ///
  /// Each ends in eight bytes of SHA-256 over its key and the bytes before, which distinguish
  /// damage from a wrong key. Each is stored twice, since all records of a session or scope need
  /// it.
  enum LayerRecord {
    static let headerKey: Bytes = [UInt8(ascii: "h")]
    static let sessions: Bytes = [UInt8(ascii: "s")]
    static let scopes: Bytes = [UInt8(ascii: "k")]
    static let copies: Bytes = [UInt8(ascii: "c")]

    static func sessionKey(_ number: UInt32) -> Bytes { sessions + bigEndian(number) }

    /// The number of a session's key, or nil when the key is no such.
    static func session(_ key: Bytes) -> UInt32? {
      key.count == 5 && key.starts(with: sessions) ? number(key[1...]) : nil
    }

    /// Key: `k`, the length of the scope's prefix in two bytes, the prefix, the first session.
    static func scopeKey(_ scope: StoreScope, _ first: UInt32) -> Bytes {
      let count = scope.prefix.count
      return scopes + [UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
        + scope.prefix + bigEndian(first)
    }

    /// The scope and the first session of a wrapped key's key, or nil when the key is no such.
    static func scope(_ key: Bytes) -> (scope: StoreScope, first: UInt32)? {
      guard key.count >= 7, key.starts(with: scopes) else { return nil }
      let end = 3 + (Int(key[1]) << 8 | Int(key[2]))
      guard key.count == end + 4 else { return nil }
      return (StoreScope(prefix: Bytes(key[3..<end])), number(key[end...]))
    }

    static func seal(_ key: Bytes, _ payload: Bytes) -> Bytes { payload + digest(key, payload) }

    /// The size of a record with its key.
    static func size(_ key: Bytes, _ payload: Bytes) -> Int { key.count + payload.count + 8 }

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

    /// A description of the record.
    static func words(_ key: Bytes) -> String {
      if key == headerKey { return "the header" }
      if let number = session(key) { return "the record of session \(number)" }
      return "a wrapped key"
    }

    /// Whether a key is one that this version writes; keys of copies do not count.
    static func isKnown(_ key: Bytes) -> Bool {
      key == headerKey || session(key) != nil || scope(key) != nil
    }
  }

  extension Batch {
    /// Stores a payload of the layer, and its copy.
    mutating func putLayerRecord(_ key: Bytes, _ payload: Bytes) {
      for key in [key, LayerRecord.copies + key] {
        put(.layer, key, LayerRecord.seal(key, payload))
      }
    }

    /// Removes a record of the layer, and its copy.
    mutating func deleteLayerRecord(_ key: Bytes) {
      for key in [key, LayerRecord.copies + key] { delete(.layer, key) }
    }
  }

  /// The stored records of the layer, each read from an intact one of its two copies.
  struct LayerRecords {
    /// By key; nil where neither copy is whole.
    private(set) var payloads: [Bytes: Bytes?] = [:]
    /// The keys of those of which a copy is damaged.
    private(set) var damaged: Set<Bytes> = []

    /// Reads all of them; they are small, and every one is needed.
    ///
    /// - Throws: as the view.
    init(_ view: any OrderedView) throws(StoreError) {
      var payloads: [Bytes: Bytes?] = [:]
      var damaged: Set<Bytes> = []
      var from: Bytes = []
      func learn(_ key: Bytes, _ value: Bytes) {
        let isCopy = key.starts(with: LayerRecord.copies)
        let own = isCopy ? Bytes(key.dropFirst()) : key
        guard LayerRecord.isKnown(own) else { return }
        if let payload = LayerRecord.open(key, value) {
          payloads[own] = .some(payload)
        } else {
          damaged.insert(own)
          if payloads[own] == nil { payloads[own] = .some(nil) }
        }
      }
      while true {
        do throws(StoreError) {
          try view.walk(.layer, .atOrAfter(from)) { key, value in
            learn(Bytes(key), Bytes(value))
            return .next
          }
          break
        } catch {
          // A store with its own checksums reports the record's place instead of its bytes.
          guard error.code == .damaged, let place = error.place, place.space == Space.layer.id,
            !place.key.lexicographicallyPrecedes(from)
          else { throw error }
          learn(place.key, [])
          from = place.key + [0]
        }
      }
      self.payloads = payloads
      self.damaged = damaged
    }

    /// The header; nil when there is none.
    var header: Bytes?? { payloads[LayerRecord.headerKey] }
  }
#endif
