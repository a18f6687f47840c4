#if Encryption
  public import ConiferKeyValue

  /// A store layer that encrypts every value at rest with AES-256-GCM, for
  /// `StorageOptions.encryption`.
  ///
  /// Values are bound to their store, space and key; keys (paths, identities) stay readable in the
  /// files, as Docs/Encryption.md lists. One object may open any number of stores.
  public final class StoreEncryption: StoreLayer {
    private let key: Bytes
    private let scopeKey: @Sendable (StoreScope) -> Bytes?

    /// Encryption with a key that the app keeps, for example in the system's keychain.
    ///
    /// - Parameters:
    ///   - key: 32 random bytes; all data is lost with them.
    ///   - scopeKey: Returns 32 random bytes for a tree or a lane that has a key of its own beside
    ///     the store's, or nil for one that has none. It is called when a scope is first written
    ///     to. Later it is called for scopes that have a key, once after each opening and `resume`,
    ///     and for the first write after `rotate`; while it returns nil then, the scope cannot be
    ///     read or written, and never again once the app has destroyed the key. It must not call
    ///     the store.
    public init(
      key: [UInt8], scopeKey: @escaping @Sendable (StoreScope) -> [UInt8]? = { _ in nil }
    ) {
      self.key = key
      self.scopeKey = scopeKey
    }

    /// Lays encryption over an open store; an empty store is made an encrypted one.
    ///
    /// - Returns: an ``EncryptedStore``.
    /// - Throws: `wrongKey` (also for a store that was made without encryption), `damaged`,
    ///   `newerFormat`, `invalid` (a key that has not 32 bytes), and as the store; nothing was changed
    ///   then.
    public func open(
      over store: any OrderedStore, _ layout: RecordLayout
    ) throws(StoreError) -> any OrderedStore {
      let view = try store.view()
      defer { view.close() }
      let state: KeyRing.State
      let records = try LayerRecords(view)
      if let stored = records.header {
        let header = try StoreHeader(stored: stored)
        state = try KeyRing.State(records, header, MasterKey(key, store: header.store))
      } else {
        let header = StoreHeader(store: MasterKey.random(16))
        let master = try MasterKey(key, store: header.store)
        try Self.requireEmpty(view, layout, records)
        var batch = Batch()
        batch.putLayerRecord(LayerRecord.headerKey, header.payload(master))
        try store.apply(batch, min(.power, store.traits.strongest))
        state = KeyRing.State(master, header)
      }
      return EncryptedStore(store, KeyRing(state, layout, ownKey: scopeKey))
    }

    /// Refuses a store that holds anything: one without encryption, or one whose header is lost.
    ///
    /// - Throws: `wrongKey`, `damaged`, and as the view.
    private static func requireEmpty(
      _ view: any OrderedView, _ layout: RecordLayout, _ records: LayerRecords
    ) throws(StoreError) {
      var (isEmpty, isSealed) = (true, records.payloads.values.contains { $0 != nil })
      var (seen, sealed) = (0, 0)
      for space in layout.spaces + [.layer] {
        var left = 4
        do throws(StoreError) {
          try view.walk(space, .atOrAfter([])) { _, value in
            isEmpty = false
            if space != .layer {
              seen += 1
              if SealedRecord.Head(value) != nil { sealed += 1 }
            }
            left -= 1
            return left > 0 ? .next : .stop
          }
        } catch {
          guard error.code == .damaged else { throw error }
          isEmpty = false
        }
      }
      guard !isEmpty else { return }
      // A plain record begins with a checksum: one of them may look sealed by chance, but not all.
      if seen > 0, sealed == seen { isSealed = true }
      if isSealed { throw StoreHeader.lost }
      throw StoreError(
        .wrongKey,
        "The store was made without encryption, so no key fits it: open it without one, or copy "
          + "it into a new store that is made with one. Nothing was changed.")
    }
  }
#endif
