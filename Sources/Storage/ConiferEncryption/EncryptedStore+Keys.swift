#if Encryption
  public import ConiferKeyValue
  import Synchronization

  extension EncryptedStore {
    /// Replaces the store's key at once and completely: the old key no longer opens anything.
    ///
    /// New records get new data keys; `tidy` encrypts the older records again, also after a
    /// restart. A scope's own key is not changed.
    ///
    /// - Parameter key: 32 random bytes.
    /// - Throws: `invalid` for a key of another length, and as `apply`. After `io` or `poisoned`,
    ///   reopening shows which of the two keys is valid.
    public func rotate(to key: [UInt8]) throws(StoreError) {
      let (old, store) = try ring.change { (state) throws(StoreError) in
        (state, state.header.store)
      }
      let master = try MasterKey(key, store: store)
      var header = old.header
      header.floor = try old.nextSession()
      header.isResealing = true
      var scopes = old.scopes
      var batch = Batch()
      for (scope, keys) in scopes {
        let keys = try rewrapped(keys, old.master, master)
        scopes[scope] = keys
        for key in keys {
          if let payload = key.payload { batch.putLayerRecord(key.recordKey, payload) }
        }
      }
      batch.putLayerRecord(LayerRecord.headerKey, header.payload(master))
      // The sessions' records that a failed commit did not store. The scopes' keys were rewrapped
      // and are stored above.
      for (key, payload) in old.unstoredRecords where LayerRecord.session(key) != nil {
        batch.putLayerRecord(key, payload)
      }
      try base.apply(batch, min(.power, traits.strongest))
      try ring.change { (state) throws(StoreError) in
        state.master = master
        state.header = header
        state.scopes = scopes
        state.current = nil
        state.markStored()
      }
      pass.withLock { $0 = nil }
    }

    private func rewrapped(
      _ keys: [ScopeKey], _ old: MasterKey, _ new: MasterKey
    ) throws(StoreError) -> [ScopeKey] {
      var result: [ScopeKey] = []
      for key in keys { result.append(try key.rewrapped(from: old, to: new)) }
      return result
    }

    /// Destroys the keys of a scope and of the scopes within it: their records become unreadable at
    /// once, and can be removed as before.
    ///
    /// Copies of the wrapped keys may remain in backups and in pages that the store below has not
    /// reused; unwrapping them needs the store's key. Docs/Encryption.md says how to make them
    /// useless.
    ///
    /// - Parameter scope: a tree, a lane, or the whole store.
    /// - Throws: as `apply`; nothing was destroyed then, unless the code is `io` or `poisoned`.
    public func erase(_ scope: StoreScope) throws(StoreError) {
      let old = try ring.change { (state) throws(StoreError) in state }
      let erased = old.scopes.filter { scope.contains($0.key) }
      var batch = Batch()
      for (scope, keys) in erased {
        for key in keys { batch.deleteLayerRecord(key.recordKey) }
        let mark = ScopeKey(erased: scope)
        if let payload = mark.payload { batch.putLayerRecord(mark.recordKey, payload) }
      }
      try base.apply(batch, min(.power, traits.strongest))
      try ring.change { (state) throws(StoreError) in
        for scope in erased.keys { state.scopes[scope] = [ScopeKey(erased: scope)] }
        state.forgetDerived { scope.contains($0.scope) }
        // New records must not be mistaken for erased ones.
        state.current = nil
      }
    }

    /// Whether `tidy` still has records to encrypt again after `rotate`, including those that it
    /// cannot read while their scope's own key is not given.
    public var isResealing: Bool {
      (try? ring.change { (state) throws(StoreError) in state.header.isResealing }) ?? false
    }
  }
#endif
