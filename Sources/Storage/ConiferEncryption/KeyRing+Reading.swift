#if Encryption
  import ConiferKeyValue

  extension KeyRing.State {
    /// Reads the layer's records: one for each session and each key of a scope, all small.
    ///
    /// - Throws: `wrongKey`, and as the view.
    init(
      _ view: any OrderedView, _ header: StoreHeader, _ master: MasterKey
    ) throws(StoreError) {
      try header.check(master)
      self.init(master, header)
      var sessions: [UInt32: Bytes?] = [:]
      var scopes: [StoreScope: [ScopeKey]] = [:]
      try view.walk(.layer, .atOrAfter(LayerRecord.scopes)) { key, value in
        let key = Bytes(key)
        let payload = LayerRecord.open(key, Bytes(value))
        if key.starts(with: LayerRecord.sessions), let number = LayerRecord.session(key) {
          sessions[number] = .some(payload?.count == 16 ? payload : nil)
        } else if key.starts(with: LayerRecord.scopes), let (scope, first) = LayerRecord.scope(key)
        {
          // In the order of their keys, and so of their first sessions.
          scopes[scope, default: []].append(ScopeKey(stored: payload, scope, first))
        }
        return .next
      }
      self.sessions = sessions
      self.scopes = scopes
    }
  }

  extension KeyRing {
    /// Reads all keys again: another process may have had the store meanwhile.
    ///
    /// - Throws: `wrongKey` when it rotated the store's key, `damaged`, and as the view.
    func reload(_ view: any OrderedView) throws(StoreError) {
      let master = try change { (state) throws(StoreError) in state.master }
      let header = try StoreHeader(view.value(.layer, LayerRecord.headerKey) ?? [])
      let state = try State(view, header, master)
      try change { (old) throws(StoreError) in old = state }
    }
  }
#endif
