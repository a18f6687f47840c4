import ConiferKeyValue
import ConiferStorage
import Synchronization

/// One way in which a store may break its contract.
enum Flaw: String, CaseIterable, Sendable {
  case dropsLastEdit
  case firstPutWins
  case clearsTheUpperEdge
  case ignoresTheLowerEdge
  case keepsShapesApart
  case tearsBatches
  case leaksLaterWrites
  case walksIntoTheNextSpace
  case beginsDescentAfterTheOrigin
  case turnsOnJumpsBack
  case ordersBySignedBytes
  case losesEmptyKeys
  case truncatesLargeValues
  case lowersTheKeyLimit
  case liesAboutPersistence
  case hidesPersistence
  case takesEveryLevel
  case refusesItsOwnLevel
  case changesTraits
  case repeatsCommitNumbers
  case readsAfterClose
  case ignoresSuspension
  case letsSecondOpenersIn
  case hidesTheOwner
  case losesDataOnSuspend
  case neverGivesSpaceBack
  case losesTheQueueAtTidying
  case miscountsItsSize
}

/// What the flawed stores "keep on disk": memory stores by directory.
final class Shelf: Sendable {
  struct Entry: Sendable {
    var store = MemoryStore()
    var isOwned = false
    var waste = 0
  }

  let entries = Mutex<[String: Entry]>([:])
}

/// A store in memory that honours the whole contract but for one flaw.
final class FlawedStore: OrderedStore {
  struct State {
    /// 0 open, 1 suspended, 2 closed or never opened.
    var phase = 2
    var commit: UInt64 = 0
    var commits = 0
    var lease = Lease()
  }

  final class Lease: Sendable {
    let isOver = Atomic(false)
  }

  static let declared = StoreTraits(
    longestKey: 100, bestValueSize: 1000, writeQuantum: 64, strongest: .process,
    isPersistent: true)

  let flaw: Flaw?
  let shelf: Shelf
  let directory: String
  let state = Mutex(State())

  init(_ flaw: Flaw?, _ shelf: Shelf, _ directory: String) throws(StoreError) {
    self.flaw = flaw
    self.shelf = shelf
    self.directory = directory
    try own()
    state.withLock { $0.phase = 0 }
  }

  deinit { try? close() }

  private func own() throws(StoreError) {
    let isFree = shelf.entries.withLock { entries in
      var entry = entries[directory] ?? Shelf.Entry()
      if entry.isOwned, flaw != .letsSecondOpenersIn { return false }
      if flaw == .liesAboutPersistence { entry = Shelf.Entry() }
      entry.isOwned = true
      entries[directory] = entry
      return true
    }
    if !isFree {
      throw StoreError(
        .busy, flaw == .hidesTheOwner ? "Busy." : "Process \(getProcessID()) owns the store.")
    }
  }

  private func disown() {
    shelf.entries.withLock { $0[directory]?.isOwned = false }
  }

  var memory: MemoryStore {
    shelf.entries.withLock { $0[directory]?.store } ?? MemoryStore()
  }

  var traits: StoreTraits {
    var traits = Self.declared
    if flaw == .changesTraits { traits.writeQuantum += state.withLock { $0.commits } }
    if flaw == .hidesPersistence { traits.isPersistent = false }
    return traits
  }

  private func requireOpen() throws(StoreError) {
    switch state.withLock({ $0.phase }) {
    case 0: return
    case 1: throw StoreError(.suspended, "Resume first.")
    default: throw StoreError(.closed, "Open it again.")
    }
  }

  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    try requireOpen()
    let strongest: Durability =
      switch flaw {
      case .takesEveryLevel: .power
      case .refusesItsOwnLevel: .relaxed
      default: .process
      }
    guard durability <= strongest else { throw StoreError(.unsupported, "Too strong.") }
    var applied = Batch()
    let edits = flaw == .keepsShapesApart ? batch.edits.map(Self.apart) : batch.edits
    for edit in flaw == .dropsLastEdit ? edits.dropLast() : edits[...] {
      switch edit {
      case .put(let space, let key, let value):
        if key.count > (flaw == .lowersTheKeyLimit ? 99 : 100) {
          if flaw == .tearsBatches { _ = try memory.apply(applied, .relaxed) }
          throw StoreError(.tooLarge, "Shorten the key.")
        }
        if flaw == .firstPutWins, batch.edits.count < 1000,
          applied.edits.contains(where: { earlier in
            if case .put(space, key, _) = earlier { true } else { false }
          })
        {
          continue
        }
        if flaw == .losesEmptyKeys, key.isEmpty { continue }
        applied.put(
          space, key,
          flaw == .truncatesLargeValues && value.count > 1 << 20
            ? Bytes(value.dropLast()) : value)
      case .delete(let space, let key): applied.delete(space, key)
      case .clear(let space, let from, let to):
        if flaw == .ignoresTheLowerEdge, bytesPrecede(from, to) {
          applied.clear(space, from: from + [0], to: to)
        } else {
          applied.clear(space, from: from, to: to)
        }
        if flaw == .clearsTheUpperEdge, bytesPrecede(from, to) { applied.delete(space, to) }
      }
    }
    _ = try memory.apply(applied, .relaxed)
    if flaw == .neverGivesSpaceBack {
      shelf.entries.withLock { $0[directory]?.waste += batch.edits.count * 1000 }
    }
    return state.withLock { state in
      state.commits += 1
      if flaw != .repeatsCommitNumbers || state.commits % 3 != 0 { state.commit += 1 }
      return CommitID(rawValue: state.commit)
    }
  }

  /// A place for each shape.
  static func apart(_ space: Space) -> Space {
    space.shape == .blobs ? Space(id: space.id ^ 128, shape: .blobs) : space
  }

  private static func apart(_ edit: Batch.Edit) -> Batch.Edit {
    switch edit {
    case .put(let space, let key, let value): .put(apart(space), key: key, value: value)
    case .delete(let space, let key): .delete(apart(space), key: key)
    case .clear(let space, let from, let to): .clear(apart(space), from: from, to: to)
    }
  }

  func harden(_ upTo: CommitID) throws(StoreError) { try requireOpen() }

  func view() throws(StoreError) -> any OrderedView {
    try requireOpen()
    return FlawedView(self, try memory.view(), state.withLock { $0.lease })
  }

  func size() throws(StoreError) -> StoreSize {
    try requireOpen()
    var size = try memory.size()
    if flaw == .miscountsItsSize { size.live /= 100 }
    let waste = shelf.entries.withLock { $0[directory]?.waste ?? 0 }
    size.free += waste
    // One byte, so that an empty store has a file.
    size.file += waste + 1
    return size
  }

  func tidy(_ slice: Duration) throws(StoreError) -> Bool {
    try requireOpen()
    if flaw == .losesTheQueueAtTidying {
      var batch = Batch()
      batch.clear(Space(id: 9, shape: .fifo), from: [], to: [0xFF])
      _ = try memory.apply(batch, .relaxed)
    }
    return false
  }

  private func end(_ phase: Int) {
    state.withLock { state in
      state.phase = phase
      if flaw != .readsAfterClose { state.lease.isOver.store(true, ordering: .releasing) }
      state.lease = Lease()
    }
    disown()
  }

  func suspend() throws(StoreError) {
    if state.withLock({ $0.phase }) == 1 { return }
    try requireOpen()
    if flaw == .ignoresSuspension { return }
    if flaw == .losesDataOnSuspend {
      shelf.entries.withLock { $0[directory]?.store = MemoryStore() }
    }
    end(1)
  }

  func resume() throws(StoreError) {
    switch state.withLock({ $0.phase }) {
    case 0: return
    case 1:
      try own()
      state.withLock { $0.phase = 0 }
    default: throw StoreError(.closed, "Open it again.")
    }
  }

  func close() throws(StoreError) {
    let phase = state.withLock { $0.phase }
    if phase == 2 { return }
    if phase == 0 { end(2) } else { state.withLock { $0.phase = 2 } }
  }
  var findings: [StoreFinding] { [] }
  func acknowledgeFindings() throws(StoreError) {}
  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool { true }
}
