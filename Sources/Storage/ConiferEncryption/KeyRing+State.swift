#if Encryption
  import ConiferKeyValue
  import Crypto

  extension KeyRing {
    /// The session of this opening.
    struct Current: Sendable {
      let number: UInt32
      var records: UInt64 = 0
      var bytes = 0
    }

    /// What a derived key is for.
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
      var derived: [Name: SymmetricKey] = [:]

      init(_ master: MasterKey, _ header: StoreHeader) {
        self.master = master
        self.header = header
      }
    }
  }

  extension KeyRing.State {
    /// A number above those of all sessions that ever sealed a record that is left.
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

    /// The records of sessions that the next commit must store.
    var unstoredSessions: [(key: Bytes, value: Bytes)] {
      unstored.sessions.compactMap { number in
        guard case .some(.some(let salt)) = sessions[number] else { return nil }
        let key = LayerRecord.sessionKey(number)
        return (key, LayerRecord.seal(key, salt))
      }
    }

    /// The layer's own records that the next commit must store.
    var unstoredRecords: [(key: Bytes, value: Bytes)] {
      var records = unstoredSessions
      for scope in unstored.scopes {
        guard let key = scopes[scope]?.last, let record = key.record else { continue }
        records.append((key.recordKey, record))
      }
      return records
    }

    /// Notes that a commit stored what it had to.
    mutating func markStored() { unstored = ([], []) }
  }
#endif
