#if Encryption
  import ConiferKeyValue
  import ConiferStorage
  import Synchronization
  import TestSupport

  @testable import ConiferEncryption

  /// A store in memory that outlives `close`, remembers every batch, and can be cut off after any.
  final class RecordingStore: ForwardingStore {
    let base = MemoryStore()
    let traits = StoreTraits(
      longestKey: 510, bestValueSize: 4080, writeQuantum: 64, strongest: .power,
      isPersistent: true)
    private let log = Mutex<[Batch]>([])
    /// After so many batches every other fails, as on a full disk.
    let mostBatches = Mutex(Int.max)
    private let seals: Seals?

    /// - Parameter seals: is told of the nonces of all records, also of those in refused batches.
    init(seals: Seals? = nil) { self.seals = seals }

    var batches: [Batch] { log.withLock { $0 } }

    /// What a crash or an old backup leaves: the state after the first batches.
    func cut(after count: Int) throws(StoreError) -> RecordingStore {
      let other = RecordingStore(seals: seals)
      for batch in batches.prefix(count) {
        seals?.learn(batch, other)
        _ = try other.base.apply(batch, .relaxed)
        other.log.withLock { $0.append(batch) }
      }
      return other
    }

    @discardableResult
    func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
      seals?.learn(batch, self)
      seals?.count(batch, self)
      guard log.withLock({ $0.count }) < mostBatches.withLock({ $0 }) else {
        throw StoreError(.full, "The disk is full.")
      }
      log.withLock { $0.append(batch) }
      return try base.apply(batch, .relaxed)
    }

    func close() throws(StoreError) {}

    /// Replaces the bytes of a record below the encryption.
    func forge(_ space: Space, _ key: Bytes, _ value: Bytes?) throws(StoreError) {
      var batch = Batch()
      if let value { batch.put(space, key, value) } else { batch.delete(space, key) }
      _ = try base.apply(batch, .relaxed)
    }

    /// The bytes of a record below the encryption.
    func raw(_ space: Space, _ key: Bytes) throws(StoreError) -> Bytes {
      try base.view().value(space, key) ?? []
    }

    /// The layer's own records of a kind.
    func own(_ kind: Bytes) throws(StoreError) -> [Bytes] {
      try rowsOf(.layer).map(\.key).filter { $0.starts(with: kind) }
    }

    func rowsOf(_ space: Space) throws(StoreError) -> [(key: Bytes, value: Bytes)] {
      var found: [(key: Bytes, value: Bytes)] = []
      try base.view().walk(space, .atOrAfter([])) { key, value in
        found.append((Bytes(key), Bytes(value)))
        return .next
      }
      return found
    }
  }

  /// Every nonce that was ever used, by the salt of its session.
  final class Seals: Sendable {
    struct Use: Hashable {
      let salt: Bytes
      let counter: UInt64
    }

    struct State {
      /// By store and number of the session.
      var salts: [ObjectIdentifier: [UInt32: Bytes]] = [:]
      var uses: [Use: Bytes] = [:]
      var repeated: [Use] = []
    }

    let state = Mutex(State())

    func learn(_ batch: Batch, _ store: RecordingStore) {
      for case .put(.layer, let key, let value) in batch.edits {
        guard let number = LayerRecord.session(key), let salt = LayerRecord.open(key, value) else {
          continue
        }
        state.withLock { $0.salts[ObjectIdentifier(store), default: [:]][number] = salt }
      }
    }

    func count(_ batch: Batch, _ store: RecordingStore) {
      for case .put(let space, _, let value) in batch.edits where space != .layer {
        guard let head = SealedRecord.Head(value.span.bytes) else { continue }
        state.withLock { state in
          let salt = state.salts[ObjectIdentifier(store)]?[head.session] ?? []
          let use = Use(salt: salt, counter: head.counter)
          // The same record in another batch is no second use.
          if let known = state.uses[use], known != value || salt.isEmpty {
            state.repeated.append(use)
          }
          state.uses[use] = value
        }
      }
    }
  }

  let keyA = Bytes(repeating: 0xA1, count: 32)
  let keyB = Bytes(repeating: 0xB2, count: 32)

  /// Scopes of one leading byte, in the spaces of the shared tests.
  let oneByte = RecordLayout(
    spaces: [
      Space(id: 1, shape: .rows), Space(id: 2, shape: .fifo), Space(id: 3, shape: .blobs),
      Space(id: 7, shape: .rows), Space(id: 8, shape: .blobs), Space(id: 9, shape: .fifo),
      Space(id: 254, shape: .rows),
    ]
  ) { _, key in min(1, key.byteCount) }

  /// Opens encryption over a store.
  func encrypted(
    _ store: any OrderedStore, _ key: Bytes = keyA,
    scopeKey: @escaping @Sendable (StoreScope) -> Bytes? = { _ in nil }
  ) throws(StoreError) -> EncryptedStore {
    let opened = try StoreEncryption(key: key, scopeKey: scopeKey).open(over: store, oneByte)
    guard let opened = opened as? EncryptedStore else {
      throw StoreError(.invalid, "Not an encrypted store.")
    }
    return opened
  }

  extension EncryptedStore {
    func value(_ space: Space, _ key: Bytes) throws(StoreError) -> Bytes? {
      let view = try view()
      defer { view.close() }
      return try view.value(space, key)
    }
  }
#endif
