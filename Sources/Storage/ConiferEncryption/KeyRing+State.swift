#if Encryption
  import ConiferKeyValue
  import Crypto

  extension KeyRing {
    /// The session of this opening.
    struct Current: Sendable {
      let number: UInt32
      var records: UInt64 = 0
      var bytes = 0
      /// The scopes of which it sealed records.
      var scopes: Set<StoreScope> = []
    }

    /// The use of a derived key.
    struct Name: Hashable, Sendable {
      let session: UInt32
      let scope: StoreScope
    }

    struct State: Sendable {
      var master: MasterKey
      var header: StoreHeader
      /// The sessions' salts: sixteen random bytes, or nil where the stored ones are damaged.
      var sessions: [UInt32: Bytes?] = [:]
      /// By scope, from the oldest on.
      var scopes: [StoreScope: [ScopeKey]] = [:]
      var current: Current?
      /// Sessions and scopes of which the next commit must store the salt, or the newest key.
      var unstored: (sessions: Set<UInt32>, scopes: Set<StoreScope>) = ([], [])
      /// Scopes that were written to since a pass over all records began.
      var written: Set<StoreScope> = []
      /// The layer's records of which a copy is damaged: the next commit stores what is known of them.
      var damaged: Set<Bytes> = []
      var derived: [Name: SymmetricKey] = [:]
      /// How many views are open, by the generation in which they were opened.
      var views: [Int: Int] = [:]
      /// Grows each time that records were sealed with newer keys, so that old keys may be dropped.
      var generation = 0

      init(_ master: MasterKey, _ header: StoreHeader) {
        self.master = master
        self.header = header
      }
    }
  }

  extension KeyRing.State {
    /// A number above those of all sessions that sealed a record that still exists.
    func nextSession() throws(StoreError) -> UInt32 {
      let firsts = scopes.values.compactMap { $0.last?.first }
      let last = max(sessions.keys.max() ?? 0, firsts.max() ?? 0)
      guard last < .max else {
        throw StoreError(
          .tooLarge, "The store has begun all sessions it can: copy it into a new one.")
      }
      return max(last + 1, header.floor)
    }

    /// Forgets derived keys.
    mutating func forgetDerived(_ isGone: (KeyRing.Name) -> Bool) {
      derived = derived.filter { !isGone($0.key) }
    }

    /// The layer's records that the next commit must store, by key.
    ///
    /// A damaged record whose content is not known is left as it is.
    var unstoredRecords: [Bytes: Bytes] {
      var keys = damaged.union(unstored.sessions.map(LayerRecord.sessionKey))
      for scope in unstored.scopes {
        if let newest = scopes[scope]?.last { keys.insert(newest.recordKey) }
      }
      var records: [Bytes: Bytes] = [:]
      for key in keys { records[key] = payload(of: key) }
      return records
    }

    /// The approximate size of the layer's records in the store: both copies, with their keys.
    var storedBytes: Int {
      var keys = [LayerRecord.headerKey]
      for number in sessions.keys where !unstored.sessions.contains(number) {
        keys.append(LayerRecord.sessionKey(number))
      }
      for scope in scopes.values { keys += scope.map(\.recordKey) }
      return keys.reduce(0) { bytes, key in
        bytes + 2 * LayerRecord.size(key, payload(of: key) ?? []) + LayerRecord.copies.count
      }
    }

    private func payload(of key: Bytes) -> Bytes? {
      if key == LayerRecord.headerKey { return header.payload(master) }
      if let number = LayerRecord.session(key) { return sessions[number] ?? nil }
      guard let (scope, first) = LayerRecord.scope(key) else { return nil }
      return scopes[scope]?.first { $0.first == first }?.payload
    }

    /// Records that a commit has stored all that was to be stored.
    mutating func markStored() {
      unstored = ([], [])
      damaged = []
    }
  }
#endif
