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
    /// The number of records after which a session ends: well below the limit of one AES-GCM key.
    static let mostRecords: UInt64 = 1 << 32
    /// The number of bytes after which a session ends.
    static let mostBytes = 1 << 36

    /// The result of opening a stored value.
    enum Opened {
      case value(Bytes)
      case damaged
      /// Its key is missing.
      case withheld(StoreScope, MissingKey)
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
      let (found, store, isStored) = try change { (state) throws(StoreError) in
        (
          try find(head.session, scope, &state), state.header.store,
          state.sessions.keys.contains(head.session)
        )
      }
      switch found {
      // Without a stored session, the record itself is taken to be damaged, not the key.
      case .missing(.lost) where !isStored: return .damaged
      case .missing(let why): return .withheld(scope, why)
      case .key(let session):
        let context = Self.context(store, space, Bytes(key))
        return SealedRecord.open(value, head, session, context).map { .value($0) } ?? .damaged
      }
    }

    /// Why the key of a stored value is missing; nil when it is present, or the value is invalid.
    func missing(_ space: Space, _ key: RawSpan, _ head: SealedRecord.Head) throws(StoreError)
      -> MissingKey?
    {
      let scope = layout.scope(space, key)
      let found = try change { (state) throws(StoreError) in
        try find(head.session, scope, &state)
      }
      if case .missing(let why) = found { return why }
      return nil
    }

    /// The key of a session in a scope.
    private func find(
      _ session: UInt32, _ scope: StoreScope, _ state: inout State
    ) throws(StoreError) -> ScopeKey.Opening {
      let name = Name(session: session, scope: scope)
      if let known = state.derived[name] { return .key(known) }
      let index = state.scopes[scope]?.lastIndex { $0.first <= session }
      // An erased key is reported as erased, even if the session is lost too.
      if let index, state.scopes[scope]?[index].isErased == true { return .missing(.erased) }
      // Every record names a session that existed, unless the record or the session's record is
      // damaged.
      guard let salt = state.sessions[session] ?? nil, let index else { return .missing(.lost) }
      let opening = try dataKey(scope, index, &state)
      guard case .key(let key) = opening else { return opening }
      let derived = HKDF<SHA256>.deriveKey(
        inputKeyMaterial: key, salt: salt,
        info: Bytes("conifer record".utf8) + state.header.store + scope.prefix, outputByteCount: 32)
      state.derived[name] = derived
      return .key(derived)
    }

    private func dataKey(
      _ scope: StoreScope, _ index: Int, _ state: inout State
    ) throws(StoreError) -> ScopeKey.Opening {
      let (master, header) = (state.master, state.header)
      return try state.scopes[scope]?[index].open(master) { () throws(StoreError) in
        try own(scope, header)
      } ?? .missing(.lost)
    }

    /// Whether records that could not be encrypted again before, by scope and session, could be
    /// now.
    func isAnyOpen(_ withheld: [StoreScope: Set<UInt32>]) throws(StoreError) -> Bool {
      try change { (state) throws(StoreError) in
        for (scope, sessions) in withheld {
          if try lacksOwnKey(scope, state) { continue }
          let keys = state.scopes[scope] ?? []
          let needed = sessions.compactMap { session in keys.lastIndex { $0.first <= session } }
          for index in Set(needed) {
            if case .key = try dataKey(scope, index, &state) { return true }
          }
        }
        return false
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

    /// Seals a value with a nonce that is never used again, whatever happens to the record.
    ///
    /// - Throws: `wrongKey` when the scope's own key is lacking.
    func seal(_ space: Space, _ key: Bytes, _ value: Bytes) throws(StoreError) -> Bytes {
      let scope = layout.scope(space, key.span.bytes)
      let sealing = try change { (state: inout State) throws(StoreError) -> Sealing in
        let needsKey = Self.needsKey(scope, state)
        if needsKey {
          guard try !lacksOwnKey(scope, state) else {
            throw Self.withheld(scope, .notGiven, StoreError.Place(space: space.id, key: key))
          }
          // A session has one key for all records of a scope.
          if state.current?.scopes.contains(scope) == true { state.current = nil }
        }
        let session = try currentSession(&state)
        if needsKey { try addKey(scope, session, &state) }
        let opening = try find(session, scope, &state)
        guard case .key(let sealing) = opening else {
          throw Self.withheld(scope, .notGiven, StoreError.Place(space: space.id, key: key))
        }
        defer {
          state.current?.scopes.insert(scope)
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

    /// Whether new records of a scope need a new key.
    private static func needsKey(_ scope: StoreScope, _ state: State) -> Bool {
      // With a lost key it is also unknown whether the scope had a key of its own.
      guard let newest = state.scopes[scope]?.last, !newest.isErased, newest.payload != nil else {
        return true
      }
      return newest.first < state.header.floor
    }

    /// Whether a scope needs a new data key while its own key is missing or wrong. Without the own
    /// key, the new data key would be protected less than the old one.
    private func lacksOwnKey(_ scope: StoreScope, _ state: State) throws(StoreError) -> Bool {
      guard Self.needsKey(scope, state), let newest = state.scopes[scope]?.last, newest.hasOwnKey
      else { return false }
      guard let own = try own(scope, state.header) else { return true }
      return try !newest.opens(state.master, own)
    }

    /// Gives a scope a key for records from a session on.
    private func addKey(
      _ scope: StoreScope, _ session: UInt32, _ state: inout State
    ) throws(StoreError) {
      let key = try ScopeKey(
        scope, session, state.master, own: own(scope, state.header))
      state.scopes[scope, default: []].append(key)
      state.unstored.scopes.insert(scope)
    }

    /// The error for a record whose key is not there.
    static func withheld(
      _ scope: StoreScope, _ why: MissingKey, _ place: StoreError.Place
    ) -> StoreError {
      StoreError(
        .wrongKey,
        why == .erased
          ? "The key of these records was erased, so that nobody reads them again: wipe or purge what "
            + "is left of them."
          : "These records have a key of their own, which is missing or wrong. Give it "
            + "where the store is opened, or wipe what can no longer be read.",
        cause: "scope \(scope.prefix.isEmpty ? "of the store itself" : scope.prefix.hex)",
        place: place)
    }

    // MARK: Views

    /// Counts a view that is about to be opened.
    func enter() -> Int {
      state.withLock { state in
        state.views[state.generation, default: 0] += 1
        return state.generation
      }
    }

    /// Counts a view of a generation as closed.
    func leave(_ generation: Int) {
      state.withLock { state in
        let left = (state.views[generation] ?? 0) - 1
        state.views[generation] = left > 0 ? left : nil
      }
    }

    /// Begins a new generation of views and returns its number.
    func advance() -> Int {
      state.withLock { state in
        state.generation += 1
        return state.generation
      }
    }

    /// Whether views of earlier generations are open.
    func hasViews(before generation: Int) -> Bool {
      state.withLock { state in state.views.keys.contains { $0 < generation } }
    }
  }
#endif
