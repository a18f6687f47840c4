#if Encryption
  import ConiferKeyValue
  import Synchronization

  /// A pass over all records, which encrypts those of old sessions again, and finds keys and
  /// sessions that are no longer needed.
  struct ResealingPass: Sendable {
    /// Records of sessions below this one are encrypted again.
    let floor: UInt32
    /// Records that the pass does not see may name this session or a later one.
    let since: UInt32
    /// The spaces that are not done.
    var spaces: ArraySlice<Space>
    /// Where the next step begins.
    var position: Bytes = []
    /// The sessions that records of a scope name, as far as they were seen.
    var named: [StoreScope: Set<UInt32>] = [:]
    /// The sessions of records that could not be encrypted again, since their scope's own key is
    /// not given.
    var withheld: [StoreScope: Set<UInt32>] = [:]
    /// The generation of views that needs no old key any more, once all spaces are done.
    var end: Int?
  }

  extension EncryptedStore {
    /// With more sessions than this, a pass looks for those that no record names.
    static let mostSessions = 64
    /// The number of newest sessions that a pass does not touch.
    private static let keptSessions = 32
    /// How many records, and about how many bytes, a step looks at.
    private static let stride = (records: 256, bytes: 1 << 20)

    /// Goes on with a pass, or begins one if there is reason to.
    ///
    /// - Returns: whether more is left to do now.
    func reseal(until end: ContinuousClock.Instant) throws(StoreError) -> Bool {
      var current = pass.withLock { $0 }
      if current == nil { current = try begin() }
      while var next = current {
        try step(&next)
        if next.spaces.isEmpty, next.end == nil { next.end = ring.advance() }
        var isWaiting = false
        if let generation = next.end {
          // An older view still reads records that are encrypted with the old keys.
          isWaiting = ring.hasViews(before: generation)
          if !isWaiting { try finish(next) }
          current = isWaiting ? next : nil
        } else {
          current = next
        }
        let reached = current
        pass.withLock { $0 = reached }
        if isWaiting { return false }
        if ContinuousClock.now >= end { break }
      }
      return current != nil
    }

    private func begin() throws(StoreError) -> ResealingPass? {
      let isFirst = hasDroppedSessions.withLock { !$0 }
      let withheld = withheld.withLock { $0 }
      // Records that could not be read before are tried again once a key for some of them is given.
      var isDue = withheld.isEmpty
      if !isDue { isDue = try ring.isAnyOpen(withheld) }
      let spaces = ring.layout.spaces[...]
      return try ring.change {
        (state: inout KeyRing.State) throws(StoreError) -> ResealingPass? in
        let next = try state.nextSession()
        let since = state.current?.number ?? next
        let floor: UInt32
        if state.header.isResealing, isDue {
          floor = state.header.floor
        } else if state.sessions.count > Self.mostSessions, isFirst {
          floor = state.sessions.keys.sorted().suffix(Self.keptSessions).first ?? since
        } else {
          return nil
        }
        state.written = []
        return ResealingPass(floor: floor, since: since, spaces: spaces)
      }
    }

    /// Processes a few records; unreadable ones stay as they are.
    private func step(_ pass: inout ResealingPass) throws(StoreError) {
      guard let space = pass.spaces.first else { return }
      let view = try base.view()
      defer { view.close() }
      var (seen, bytes) = (0, 0)
      var old: [OldRecord] = []
      var last: Bytes?
      var (named, withheld) = (pass.named, pass.withheld)
      var failure: StoreError?
      try view.walk(space, .atOrAfter(pass.position)) { key, value in
        guard seen < Self.stride.records, bytes < Self.stride.bytes else { return .stop }
        seen += 1
        bytes += value.byteCount
        last = Bytes(key)
        guard let head = SealedRecord.Head(value) else { return .next }
        do throws(StoreError) {
          if head.session < pass.floor {
            switch try ring.open(space, key, value) {
            case .value(let plain):
              old.append(OldRecord(key: Bytes(key), value: plain, session: head.session))
              return .next
            case .withheld(let scope, .notGiven):
              withheld[scope, default: []].insert(head.session)
            case .withheld, .damaged: break
            }
          }
          named[ring.layout.scope(space, key), default: []].insert(head.session)
          return .next
        } catch {
          failure = error
          return .stop
        }
      }
      if let failure { throw failure }
      (pass.named, pass.withheld) = (named, withheld)
      for record in try seal(old, space) {
        let scope = ring.layout.scope(space, record.key.span.bytes)
        pass.named[scope, default: []].insert(record.session)
        pass.withheld[scope, default: []].insert(record.session)
      }
      if let last, seen >= Self.stride.records || bytes >= Self.stride.bytes {
        pass.position = last + [0]
      } else {
        pass.spaces.removeFirst()
        pass.position = []
      }
    }

    private struct OldRecord {
      let key: Bytes
      let value: Bytes
      let session: UInt32
    }

    /// Encrypts records again.
    ///
    /// - Returns: the records whose scope's own key is no longer given.
    private func seal(
      _ records: [OldRecord], _ space: Space
    ) throws(StoreError) -> [OldRecord] {
      var left: [OldRecord] = []
      var batch = Batch()
      for record in records {
        do throws(StoreError) {
          batch.put(space, record.key, try ring.seal(space, record.key, record.value))
        } catch {
          guard error.code == .wrongKey else { throw error }
          left.append(record)
        }
      }
      // A crash only makes another pass encrypt them again.
      if !batch.isEmpty { _ = try store(batch, .relaxed) }
      return left
    }

    /// Drops the keys and sessions that no record needs.
    private func finish(_ pass: ResealingPass) throws(StoreError) {
      let old = try ring.change { (state) throws(StoreError) in state }
      let named = pass.named.values.reduce(into: Set<UInt32>()) { $0.formUnion($1) }
      var sessions = old.sessions
      var scopes = old.scopes
      var batch = Batch()
      for number in old.sessions.keys where number < pass.since && !named.contains(number) {
        sessions[number] = nil
        batch.deleteLayerRecord(LayerRecord.sessionKey(number))
      }
      for (scope, keys) in old.scopes {
        let left = Self.needed(keys, pass.named[scope] ?? [], old.written.contains(scope))
        scopes[scope] = left.isEmpty ? nil : left
        for key in keys where !left.contains(where: { $0.first == key.first }) {
          batch.deleteLayerRecord(key.recordKey)
        }
      }
      var header = old.header
      header.isResealing = old.header.isResealing && !pass.withheld.isEmpty
      if old.header.isResealing != header.isResealing {
        batch.putLayerRecord(LayerRecord.headerKey, header.payload(old.master))
      }
      hasDroppedSessions.withLock { $0 = true }
      withheld.withLock { $0 = pass.withheld }
      if !batch.isEmpty { try base.apply(batch, min(.power, traits.strongest)) }
      try ring.change { (state) throws(StoreError) in
        state.sessions = sessions
        state.scopes = scopes
        state.header = header
        // A number may be given to another session now, and another key of its scope may apply to a
        // session.
        state.derived = [:]
      }
    }

    /// The keys of a scope that records need: of the sessions that were seen, and the newest one when
    /// it may have been used meanwhile.
    private static func needed(
      _ keys: [ScopeKey], _ sessions: Set<UInt32>, _ isWritten: Bool
    ) -> [ScopeKey] {
      var firsts = Set(
        sessions.compactMap { session in keys.last { $0.first <= session }?.first })
      if isWritten, let newest = keys.last { firsts.insert(newest.first) }
      return keys.filter { firsts.contains($0.first) }
    }
  }
#endif
