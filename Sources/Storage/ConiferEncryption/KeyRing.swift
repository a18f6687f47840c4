#if Encryption
  import ConiferKeyValue
  import Crypto
  import Synchronization

  /// The keys of one open store: what it stores of them, and the session keys derived from them.
  ///
  /// Every opening begins a session of its own with a random salt at its first write. A record's key
  /// comes from the data key of its scope and its session's salt, and its nonce is the session's
  /// counter: neither a crash nor a restored or copied store can use the two again.
  final class KeyRing: Sendable {
    /// After so many records a session ends: well below what one key of AES-GCM may seal.
    static let mostRecords: UInt64 = 1 << 32
    /// After so many bytes a session ends.
    static let mostBytes = 1 << 36

    /// What a stored value turns out to be.
    enum Opened {
      case value(Bytes)
      case damaged
      /// Its key is erased, was not given, or is itself damaged.
      case withheld(StoreScope)
    }

    let layout: RecordLayout
    private let ownKey: @Sendable (StoreScope) -> Bytes?
    private let state: Mutex<State>

    init(
      _ state: State, _ layout: RecordLayout, ownKey: @escaping @Sendable (StoreScope) -> Bytes?
    ) {
      self.state = Mutex(state)
      self.layout = layout
      self.ownKey = ownKey
    }

    /// Reads or changes the keys under their lock.
    func change<R: Sendable>(_ body: (inout State) throws(StoreError) -> R) throws(StoreError) -> R
    {
      try state.withLock { (state: inout State) throws(StoreError) -> R in try body(&state) }
    }

    // MARK: Reading

    /// Opens a stored value.
    func open(_ space: Space, _ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Opened {
      guard let head = SealedRecord.Head(value) else { return .damaged }
      let scope = layout.scope(space, key)
      let (found, store) = try change { (state) throws(StoreError) in
        (try find(head.session, scope, &state), state.header.store)
      }
      switch found {
      case .none: return .damaged
      case .withheld: return .withheld(scope)
      case .key(let session):
        let context = Self.context(store, space, Bytes(key))
        return SealedRecord.open(value, head, session, context).map { .value($0) } ?? .damaged
      }
    }

    private enum Found {
      case key(SymmetricKey)
      case withheld
      case none
    }

    /// The key of a session in a scope.
    private func find(
      _ session: UInt32, _ scope: StoreScope, _ state: inout State
    ) throws(StoreError) -> Found {
      let name = Name(session: session, scope: scope)
      if let known = state.derived[name] { return .key(known) }
      // No record names a session that never was, unless it is damaged.
      guard let stored = state.sessions[session] else { return .none }
      guard let salt = stored,
        let index = state.scopes[scope]?.lastIndex(where: { $0.first <= session }),
        let key = try dataKey(scope, index, &state)
      else { return .withheld }
      let derived = HKDF<SHA256>.deriveKey(
        inputKeyMaterial: key, salt: salt,
        info: Bytes("conifer record".utf8) + state.header.store + scope.prefix, outputByteCount: 32)
      state.derived[name] = derived
      return .key(derived)
    }

    private func dataKey(
      _ scope: StoreScope, _ index: Int, _ state: inout State
    ) throws(StoreError) -> SymmetricKey? {
      let (master, header) = (state.master, state.header)
      return try state.scopes[scope]?[index].open(master) { () throws(StoreError) in
        try own(scope, header)
      }
    }

    private func own(
      _ scope: StoreScope, _ header: StoreHeader
    ) throws(StoreError) -> MasterKey? {
      guard let bytes = ownKey(scope) else { return nil }
      return try MasterKey(bytes, store: header.store)
    }

    private static func context(_ store: Bytes, _ space: Space, _ key: Bytes) -> Bytes {
      var context = store
      context.reserveCapacity(store.count + 1 + key.count)
      context.append(space.id)
      context.append(contentsOf: key)
      return context
    }

    // MARK: Sealing

    /// Seals a value with a nonce that is never used again, whatever becomes of the record.
    ///
    /// - Throws: `wrongKey` when the scope's own key is lacking.
    func seal(_ space: Space, _ key: Bytes, _ value: Bytes) throws(StoreError) -> Bytes {
      let scope = layout.scope(space, key.span.bytes)
      let sealing = try change { (state: inout State) throws(StoreError) -> Sealing in
        let session = try currentSession(&state)
        try prepare(scope, session, &state)
        guard case .key(let sealing) = try find(session, scope, &state) else {
          throw Self.withheld(scope, StoreError.Place(space: space.id, key: key))
        }
        defer {
          state.current?.records += 1
          state.current?.bytes += value.count
          state.written.insert(scope)
        }
        return Sealing(
          session: session, counter: state.current?.records ?? 0, key: sealing,
          store: state.header.store)
      }
      return try SealedRecord.seal(
        value, sealing.session, sealing.counter, sealing.key,
        Self.context(sealing.store, space, key))
    }

    private struct Sealing: Sendable {
      let session: UInt32
      let counter: UInt64
      let key: SymmetricKey
      let store: Bytes
    }

    /// The session to seal with: this opening's, or a new one.
    private func currentSession(_ state: inout State) throws(StoreError) -> UInt32 {
      if let current = state.current, current.records < Self.mostRecords,
        current.bytes < Self.mostBytes
      {
        return current.number
      }
      let number = try state.nextSession()
      state.sessions[number] = MasterKey.random(16)
      state.unstored.sessions.insert(number)
      state.current = Current(number: number)
      return number
    }

    /// Sees to it that a scope has a key for new records.
    private func prepare(
      _ scope: StoreScope, _ session: UInt32, _ state: inout State
    ) throws(StoreError) {
      if let newest = state.scopes[scope]?.last, !newest.isErased {
        if newest.first >= state.header.floor { return }
        // Without the scope's own key a new data key would be less well kept than the old one.
        if newest.payload == nil { return }
        if newest.hasOwner, ownKey(scope) == nil { return }
      }
      let key = try ScopeKey(
        scope, session, state.master, own: own(scope, state.header))
      state.scopes[scope, default: []].append(key)
      state.unstored.scopes.insert(scope)
    }

    /// The error for a record whose key is not there.
    static func withheld(_ scope: StoreScope, _ place: StoreError.Place) -> StoreError {
      StoreError(
        .wrongKey,
        "The key of these records was erased, is damaged, or was not given: give the scope's own key "
          + "where the store is opened, or wipe what can no longer be read.",
        cause: "scope \(scope.prefix.isEmpty ? "of the store itself" : hex(scope.prefix))",
        place: place)
    }

    private static func hex(_ bytes: Bytes) -> String {
      let digits = Array("0123456789abcdef")
      return bytes.map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }.joined()
    }
  }
#endif
