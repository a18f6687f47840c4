import ConiferKeyValue
import ConiferStorage
import StorageConformance
import Synchronization

/// What the stores of one factory "keep on disk": memory stores by directory.
final class Shelf: Sendable {
  struct Entry: Sendable {
    var store = MemoryStore()
    var isOwned = false
  }

  let entries = Mutex<[String: Entry]>([:])
}

/// A store in memory that outlives its closing, so that the whole contract can be asked of it
/// without a disk.
final class ShelfStore: OrderedStore {
  private enum Phase { case open, suspended, closed }

  private struct State {
    var phase = Phase.closed
    var commit: UInt64 = 0
    var lease = Lease()
  }

  final class Lease: Sendable {
    let isOver = Atomic(false)
  }

  static let declared = StoreTraits(
    longestKey: 100, bestValueSize: 1000, writeQuantum: 64, strongest: .process,
    isPersistent: true)

  /// Stores of a shelf of their own.
  static func factory(_ name: String = "shelf") -> StoreFactory {
    let shelf = Shelf()
    return StoreFactory(name: name, declared: declared) { (directory) throws(StoreError) in
      try ShelfStore(shelf, directory)
    }
  }

  private let shelf: Shelf
  private let directory: String
  private let state = Mutex(State())

  init(_ shelf: Shelf, _ directory: String) throws(StoreError) {
    self.shelf = shelf
    self.directory = directory
    try own()
    state.withLock { $0.phase = .open }
  }

  deinit { try? close() }

  private func own() throws(StoreError) {
    let isFree = shelf.entries.withLock { entries in
      var entry = entries[directory] ?? Shelf.Entry()
      if entry.isOwned { return false }
      entry.isOwned = true
      entries[directory] = entry
      return true
    }
    if !isFree { throw StoreError(.busy, "Process \(getProcessID()) owns the store.") }
  }

  private var memory: MemoryStore {
    shelf.entries.withLock { $0[directory]?.store } ?? MemoryStore()
  }

  var traits: StoreTraits { Self.declared }

  private func requireOpen() throws(StoreError) {
    switch state.withLock({ $0.phase }) {
    case .open: return
    case .suspended: throw StoreError(.suspended, "Resume first.")
    case .closed: throw StoreError(.closed, "Open it again.")
    }
  }

  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    try requireOpen()
    guard durability <= Self.declared.strongest else {
      throw StoreError(.unsupported, "Too strong.")
    }
    for case .put(_, let key, _) in batch.edits where key.count > Self.declared.longestKey {
      throw StoreError(.tooLarge, "Shorten the key.")
    }
    _ = try memory.apply(batch, .relaxed)
    return state.withLock { state in
      state.commit += 1
      return CommitID(rawValue: state.commit)
    }
  }

  func harden(_ upTo: CommitID) throws(StoreError) { try requireOpen() }

  func view() throws(StoreError) -> any OrderedView {
    try requireOpen()
    return ShelfView(try memory.view(), state.withLock { $0.lease })
  }

  func size() throws(StoreError) -> StoreSize {
    try requireOpen()
    var size = try memory.size()
    // One byte, so that an empty store has a file.
    size.file += 1
    return size
  }

  func tidy(_ slice: Duration) throws(StoreError) -> Bool {
    try requireOpen()
    return false
  }

  private func end(_ phase: Phase) {
    state.withLock { state in
      state.phase = phase
      state.lease.isOver.store(true, ordering: .releasing)
      state.lease = Lease()
    }
    shelf.entries.withLock { $0[directory]?.isOwned = false }
  }

  func suspend() throws(StoreError) {
    if state.withLock({ $0.phase == .suspended }) { return }
    try requireOpen()
    end(.suspended)
  }

  func resume() throws(StoreError) {
    switch state.withLock({ $0.phase }) {
    case .open: return
    case .suspended:
      try own()
      state.withLock { $0.phase = .open }
    case .closed: throw StoreError(.closed, "Open it again.")
    }
  }

  func close() throws(StoreError) {
    switch state.withLock({ $0.phase }) {
    case .open: end(.closed)
    // Another may own it meanwhile.
    case .suspended: state.withLock { $0.phase = .closed }
    case .closed: return
    }
  }

  var findings: [StoreFinding] { [] }
  func acknowledgeFindings() throws(StoreError) {}
  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool { true }
}
