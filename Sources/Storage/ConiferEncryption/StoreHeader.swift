#if Encryption
  import ConiferKeyValue

  /// The header of an encrypted store, without which it cannot be opened: its format, its id, and a
  /// check of the key.
  struct StoreHeader: Sendable {
    /// The version of the format of this layer.
    static let format: UInt8 = 1
    /// AES-256-GCM with keys by HKDF-SHA256.
    static let algorithm: UInt8 = 1

    /// Sixteen random bytes that no other store has.
    let store: Bytes
    /// Records of sessions below this one must be sealed again, with new keys.
    var floor: UInt32 = 0
    /// Whether such records may be left.
    var isResealing = false
    /// The tag that the last stored key computed over the fields.
    private var mark: Bytes = []

    private var fields: Bytes {
      [Self.format, Self.algorithm] + store + LayerRecord.bigEndian(floor)
        + [isResealing ? 1 : 0]
    }

    /// The stored bytes.
    func payload(_ key: MasterKey) -> Bytes { fields + key.check(fields) }

    init(store: Bytes) { self.store = store }

    /// The error for a store without its header, which is needed to derive its keys.
    static var lost: StoreError {
      StoreError(
        .damaged,
        "The header of the encrypted store and its copy are damaged or lost: restore a backup. "
          + "Nothing was changed.",
        place: StoreError.Place(space: Space.layer.id, key: LayerRecord.headerKey))
    }

    /// Parses the stored bytes; nil when they are damaged. `check` verifies a key.
    ///
    /// - Throws: `damaged`, `newerFormat`.
    init(stored: Bytes?) throws(StoreError) {
      guard let payload = stored, let version = payload.first else { throw Self.lost }
      guard version == Self.format, payload.count == 39, payload[1] == Self.algorithm else {
        throw StoreError(
          .newerFormat,
          "The store is encrypted in a way that this version of Conifer does not know: open it with "
            + "a newer one. Nothing was changed.")
      }
      store = Bytes(payload[2..<18])
      floor = LayerRecord.number(payload[18..<22])
      isResealing = payload[22] != 0
      mark = Bytes(payload[23...])
    }

    /// Makes sure that a key is the store's.
    ///
    /// - Throws: `wrongKey`.
    func check(_ key: MasterKey) throws(StoreError) {
      guard key.check(fields) == mark else {
        throw StoreError(
          .wrongKey,
          "The key is not this store's: give the one that it was made with, or last rotated to. "
            + "Nothing was changed.")
      }
    }
  }
#endif
