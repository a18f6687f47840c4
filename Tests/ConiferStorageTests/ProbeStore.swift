import ConiferKeyValue
import Synchronization

@testable import ConiferLeafStore
@testable import ConiferStorage

/// A store in memory with limits of a test's choice, which remembers what was applied.
final class ProbeStore: OrderedStore {
  let base: MemoryStore
  let traits: StoreTraits
  /// A batch with more edits is refused as `full`.
  let mostEdits = Mutex(Int.max)
  /// Whether a batch that makes no room is refused as `full`.
  let isFull = Mutex(false)
  /// A batch after so many is refused as `io`.
  let mostBatches = Mutex(Int.max)
  /// What comes on top of the records after so many batches: the store's own bytes, and others.
  let extra = Mutex<@Sendable (Int) -> (own: Int, shared: Int)>({ _ in (0, 0) })
  /// The edits and the durability of every batch that was applied.
  let applied = Mutex<[(edits: Int, durability: Durability)]>([])
  /// The moment of the newest batch that the death of the process cannot take.
  let kept = Mutex<(any OrderedView)?>(nil)
  /// Called before each view is taken.
  let willView = Mutex<(@Sendable () -> Void)?>(nil)
  /// A record of which one reading fails as `io`.
  let unreadable = Mutex<StoreError.Place?>(nil)
  /// How many readings of it succeed before.
  let readingsBefore = Mutex(0)
  /// Whether suspending fails as `io`.
  let keepsOpen = Mutex(false)
  /// How often the keys of each space were walked.
  let walks = Mutex<[UInt8: Int]>([:])
  /// How many records walks and gets have lent.
  let lent = Mutex(0)
  /// How many bytes of values walks and gets have lent.
  let lentBytes = Mutex(0)

  /// How many records something was lent.
  func counting(_ body: () throws -> Void) rethrows -> Int {
    let before = lent.withLock { $0 }
    try body()
    return lent.withLock { $0 } - before
  }

  init(_ base: MemoryStore = MemoryStore(), longestKey: Int = 510, bestValueSize: Int = 4080) {
    self.base = base
    traits = StoreTraits(
      longestKey: longestKey, bestValueSize: bestValueSize, writeQuantum: 64, strongest: .power,
      isPersistent: true)
  }

  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    for case .put(_, let key, _) in batch.edits where key.count > traits.longestKey {
      throw StoreError(.tooLarge, "A key is too long.")
    }
    let isRefused = isFull.withLock { $0 } && !batch.makesRoom
    guard batch.edits.count <= mostEdits.withLock({ $0 }), !isRefused else {
      throw StoreError(.full, "The disk is full.")
    }
    let count = applied.withLock { $0.count }
    guard count < mostBatches.withLock({ $0 }) else {
      throw StoreError(.io, "The disk is gone.")
    }
    applied.withLock { $0.append((batch.edits.count, durability)) }
    let commit = try base.apply(batch, .relaxed)
    if durability >= .process { try keep() }
    return commit
  }

  /// Takes what is there for what a crash leaves.
  func keep() throws(StoreError) {
    let view = try base.view()
    kept.withLock { $0 = view }
  }

  func harden(_ upTo: CommitID) throws(StoreError) { try base.harden(upTo) }
  func view() throws(StoreError) -> any OrderedView {
    willView.withLock { $0 }?()
    return ProbeView(try base.view(), self)
  }
  func size() throws(StoreError) -> StoreSize {
    var size = try base.size()
    let count = applied.withLock { $0.count }
    let extra = extra.withLock { $0(count) }
    size.own = extra.own
    size.live += extra.own + extra.shared
    return size
  }
  func tidy(_ slice: Duration) throws(StoreError) -> Bool { try base.tidy(slice) }
  func suspend() throws(StoreError) {
    if keepsOpen.withLock({ $0 }) { throw StoreError(.io, "The sync failed.") }
    try base.suspend()
  }
  func resume() throws(StoreError) { try base.resume() }
  func close() throws(StoreError) { try base.close() }
  var findings: [StoreFinding] { [] }
  func acknowledgeFindings() throws(StoreError) {}
  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool { true }
}

extension MemoryStore {
  /// Flips a bit in the middle of a record's value.
  func damage(_ space: Space, _ key: Bytes) throws {
    let view = try view()
    guard var value = try view.value(space, key) else { return }
    value[value.count / 2] ^= 0x10
    var batch = Batch()
    batch.put(space, key, value)
    _ = try apply(batch, .relaxed)
  }

  /// The keys of a space.
  func keys(_ space: Space) throws -> [Bytes] { try view().keys(space, prefix: []) }
}

extension PackedEngine {
  /// Applies commits as one group and gives what each was answered.
  func group(
    _ commits: [[StorageEdit]], _ durability: Durability = .process
  ) -> [Result<CommitReceipt, StoreError>] {
    let answers = Mutex<[Int: Result<CommitReceipt, StoreError>]>([:])
    _ = drain(
      commits.enumerated().map { index, edits in
        .commit(
          Pending(edits: edits, durability: durability) { answer in
            answers.withLock { $0[index] = answer }
          })
      })
    return answers.withLock { answers in
      commits.indices.map { answers[$0] ?? .failure(StoreError(.io, "no answer")) }
    }
  }
}

extension Evictor.Phase {
  /// Whether an eviction is under way.
  var isRunning: Bool { if case .evicting = self { true } else { false } }
}

extension Result where Failure == StoreError {
  /// The code of a failure.
  var code: StoreError.Code? {
    if case .failure(let error) = self { error.code } else { nil }
  }
}

/// A view that tells its store of walks.
private final class ProbeView: OrderedView {
  private let base: any OrderedView
  private let store: ProbeStore

  init(_ base: any OrderedView, _ store: ProbeStore) {
    self.base = base
    self.store = store
  }

  func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R? {
    store.lent.withLock { $0 += 1 }
    let isUnreadable = store.unreadable.withLock { place in
      guard place == StoreError.Place(space: space.id, key: key) else { return false }
      let isEarly = store.readingsBefore.withLock { left in
        defer { left = max(0, left - 1) }
        return left > 0
      }
      if isEarly { return false }
      place = nil
      return true
    }
    if isUnreadable { throw StoreError(.io, "The disk did not answer.") }
    return try base.get(space, key) { value in
      store.lentBytes.withLock { $0 += value.byteCount }
      return read(value)
    }
  }
  func walk(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    store.walks.withLock { $0[space.id, default: 0] += 1 }
    try base.walk(space, origin) { key, value in
      store.lent.withLock { $0 += 1 }
      store.lentBytes.withLock { $0 += value.byteCount }
      return visit(key, value)
    }
  }
  func walkKeys(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ size: Int) -> Step
  ) throws(StoreError) {
    store.walks.withLock { $0[space.id, default: 0] += 1 }
    try base.walkKeys(space, origin) { key, size in
      store.lent.withLock { $0 += 1 }
      return visit(key, size)
    }
  }
  func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {}

  func close() { base.close() }
}
