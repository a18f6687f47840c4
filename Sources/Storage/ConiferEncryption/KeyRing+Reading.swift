#if Encryption
  import ConiferKeyValue

  extension KeyRing.State {
    /// The keys that stored records give: one for each session and each key of a scope.
    ///
    /// - Throws: `wrongKey`.
    init(
      _ records: LayerRecords, _ header: StoreHeader, _ master: MasterKey
    ) throws(StoreError) {
      try header.check(master)
      self.init(master, header)
      for (key, payload) in records.payloads {
        if let number = LayerRecord.session(key) {
          sessions[number] = .some(payload?.count == 16 ? payload : nil)
        } else if let (scope, first) = LayerRecord.scope(key) {
          scopes[scope, default: []].append(ScopeKey(stored: payload, scope, first))
        }
      }
      for scope in scopes.keys { scopes[scope]?.sort { $0.first < $1.first } }
      damaged = records.damaged
    }
  }

  extension KeyRing {
    /// Reads all keys again: another process may have had the store meanwhile.
    ///
    /// - Throws: `wrongKey` when it rotated the store's key, `damaged`, and as the view.
    func reload(_ view: any OrderedView) throws(StoreError) {
      let master = try change { (state) throws(StoreError) in state.master }
      let records = try LayerRecords(view)
      let header = try StoreHeader(stored: records.header ?? nil)
      var state = try State(records, header, master)
      try change { (old) throws(StoreError) in
        (state.views, state.generation) = (old.views, old.generation)
        old = state
      }
    }
  }
#endif
