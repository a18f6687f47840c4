#if Encryption
  public import ConiferKeyValue
  import Synchronization

  /// An ordered store that encrypts its values and keeps them in another store; ``StoreEncryption``
  /// makes it.
  ///
  /// Reading a record that was changed, moved or exchanged throws `damaged`. Reading one whose key
  /// is missing throws `wrongKey`, or `damaged` when its stored key is damaged; a walk that began
  /// in another scope skips it. All of these records can be removed.
  public final class EncryptedStore: OrderedStore {
    /// The traits of the store below; the best value size is smaller by a record's overhead.
    public let traits: StoreTraits
    let base: any OrderedStore
    let ring: KeyRing
    /// The pass over all records that is under way.
    let pass: Mutex<ResealingPass?> = Mutex(nil)
    /// Whether old sessions were looked for since opening.
    let hasDroppedSessions = Mutex(false)
    /// Scopes whose own key the last pass did not have, with the sessions of the records left for it.
    let withheld: Mutex<[StoreScope: Set<UInt32>]> = Mutex([:])

    init(_ base: any OrderedStore, _ ring: KeyRing) {
      self.base = base
      self.ring = ring
      var traits = base.traits
      traits.bestValueSize = max(1, traits.bestValueSize - SealedRecord.overhead)
      self.traits = traits
    }

    /// Applies a batch of encrypted values, with the layer's own records that they need.
    ///
    /// - Throws: as the store below, and `wrongKey` for a value whose scope's own key is lacking.
    @discardableResult
    public func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
      var sealed = Batch()
      sealed.frees = batch.frees
      for edit in batch.edits {
        switch edit {
        case .put(let space, let key, let value):
          try Self.check(space)
          sealed.put(space, key, try ring.seal(space, key, value))
        case .delete(let space, let key):
          try Self.check(space)
          sealed.delete(space, key)
        case .clear(let space, let from, let to):
          try Self.check(space)
          sealed.clear(space, from: from, to: to)
        }
      }
      return try store(sealed, durability)
    }

    /// Applies a batch of encrypted values.
    func store(_ sealed: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
      let own = try ring.change { (state) throws(StoreError) in state.unstoredRecords }
      guard !own.isEmpty else { return try base.apply(sealed, durability) }
      var batch = sealed
      for (key, payload) in own { batch.putLayerRecord(key, payload) }
      let commit = try base.apply(batch, durability)
      try ring.change { (state) throws(StoreError) in state.markStored() }
      return commit
    }

    private static func check(_ space: Space) throws(StoreError) {
      guard space.id == Space.layer.id else { return }
      throw StoreError(
        .invalid, "Space \(space.id) belongs to the encryption: use another one.")
    }

    /// Makes every commit up to this one survive power loss.
    ///
    /// - Throws: as the store below.
    public func harden(_ upTo: CommitID) throws(StoreError) { try base.harden(upTo) }

    /// A frozen view of the newest commit.
    ///
    /// - Throws: as the store below.
    public func view() throws(StoreError) -> any OrderedView {
      // The view is counted before it is opened: it may count as older than it is, so keys are kept
      // a little longer.
      let generation = ring.enter()
      do throws(StoreError) {
        return EncryptedView(try base.view(), ring, generation)
      } catch {
        ring.leave(generation)
        throw error
      }
    }

    /// The sizes; the layer's records count as the store's own.
    ///
    /// - Throws: as the store below.
    public func size() throws(StoreError) -> StoreSize {
      var size = try base.size()
      let bytes = try ring.change { (state) throws(StoreError) in state.storedBytes }
      size.own = min(size.own + bytes, size.live)
      return size
    }

    /// Encrypts a few records again after a rotation, and runs the housekeeping of the store below.
    ///
    /// - Throws: as the store below.
    public func tidy(_ slice: Duration) throws(StoreError) -> Bool {
      let end = ContinuousClock.now + slice
      let isMore = try reseal(until: end)
      return try base.tidy(max(.milliseconds(1), end - ContinuousClock.now)) || isMore
    }

    /// Checks the files, as the store below does, and the layer's own records; others are checked by
    /// reading them.
    ///
    /// - Throws: as the store below.
    public func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool {
      guard try base.verify(found) else { return false }
      let view = try base.view()
      defer { view.close() }
      let records = try LayerRecords(view)
      for key in records.damaged.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
        let isLost = (records.payloads[key] ?? nil) == nil
        found(
          StoreFinding(
            file: "the encryption's records", offset: 0, bytes: 0,
            words: "\(LayerRecord.words(key)) is damaged, "
              + (isLost ? "and so is its copy" : "and its copy is not: the next commit mends it")))
      }
      return true
    }

    /// Releases every file lock until `resume()`.
    ///
    /// - Throws: as the store below.
    public func suspend() throws(StoreError) { try base.suspend() }

    /// Takes the locks again, and the keys that another process may have made.
    ///
    /// - Throws: as the store below; `wrongKey` when another process rotated the key: the store stays
    ///   suspended then.
    public func resume() throws(StoreError) {
      try base.resume()
      do throws(StoreError) {
        let view = try base.view()
        defer { view.close() }
        try ring.reload(view)
      } catch {
        try? base.suspend()
        throw error
      }
      pass.withLock { $0 = nil }
      withheld.withLock { $0 = [:] }
    }

    /// Makes all commits durable and closes.
    ///
    /// - Throws: as the store below.
    public func close() throws(StoreError) { try base.close() }

    /// The findings of the store below.
    public var findings: [StoreFinding] { base.findings }

    /// Acknowledges the findings.
    ///
    /// - Throws: as the store below.
    public func acknowledgeFindings() throws(StoreError) { try base.acknowledgeFindings() }
  }
#endif
