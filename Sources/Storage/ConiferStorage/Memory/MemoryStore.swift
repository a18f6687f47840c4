@_spi(Stores) public import ConiferKeyValue
import Synchronization

/// An ordered store in memory, as short as possible, for tests and for apps that keep nothing.
///
/// A view shares structure with the store, so that taking one costs nothing. Everything is gone
/// with `close`; `suspend` keeps the data.
public final class MemoryStore: OrderedStore {
  private enum Phase {
    case open
    case suspended
    case closed
  }

  private struct State {
    var phase = Phase.open
    var spaces: [UInt8: SortedBytes<Bytes>] = [:]
    var commit: UInt64 = 0
    /// Bytes of all keys and values.
    var live = 0
    var lease = MemoryLease()

    /// Throws unless the store is open.
    func requireOpen() throws(StoreError) {
      switch phase {
      case .open: return
      case .suspended:
        throw StoreError(.suspended, "The memory store is suspended; call resume() first.")
      case .closed:
        throw StoreError(.closed, "The memory store was closed; make a new one.")
      }
    }

    mutating func set(_ space: Space, _ key: Bytes, _ value: Bytes?) {
      if let old = spaces[space.id]?[key] { live -= key.count + old.count }
      if let value { live += key.count + value.count }
      spaces[space.id, default: SortedBytes()][key] = value
    }

    mutating func clear(_ space: Space, _ from: Bytes, _ to: Bytes) {
      guard let rows = spaces[space.id] else { return }
      var place = rows.firstAtOrAfter(from)
      while let at = place {
        let (key, value) = rows.entry(at: at)
        guard bytesPrecede(key, to) else { break }
        live -= key.count + value.count
        place = rows.after(at)
      }
      spaces[space.id]?.removeAll(from: from, to: to)
    }

    mutating func end(_ next: Phase) {
      phase = next
      lease.isOver.store(true, ordering: .releasing)
    }
  }

  private let state = Mutex(State())

  /// No limit on keys, no durability above `.relaxed`, nothing persistent.
  public let traits = StoreTraits(
    longestKey: .max, bestValueSize: 16 << 10, writeQuantum: 64, strongest: .relaxed,
    isPersistent: false)

  /// An empty store.
  public init() {}

  /// Applies a batch whole.
  ///
  /// - Throws: `unsupported` for a durability above `.relaxed`, `closed`, `suspended`.
  public func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    try state.withLock { (state: inout State) throws(StoreError) -> CommitID in
      try state.requireOpen()
      guard durability <= traits.strongest else {
        throw StoreError(
          .unsupported, "A memory store survives nothing; commit at .relaxed, as its traits say.")
      }
      for edit in batch.edits {
        switch edit {
        case .put(let space, let key, let value): state.set(space, key, value)
        case .delete(let space, let key): state.set(space, key, nil)
        case .clear(let space, let from, let to): state.clear(space, from, to)
        }
      }
      state.commit += 1
      return CommitID(rawValue: state.commit)
    }
  }

  /// Does nothing: a memory store goes no further than `.relaxed`.
  ///
  /// - Throws: `closed`, `suspended`.
  public func harden(_ upTo: CommitID) throws(StoreError) {
    try state.withLock { (state: inout State) throws(StoreError) in try state.requireOpen() }
  }

  /// A frozen view of the newest commit; it costs nothing to hold.
  ///
  /// - Throws: `closed`, `suspended`.
  public func view() throws(StoreError) -> any OrderedView {
    try state.withLock { (state: inout State) throws(StoreError) -> any OrderedView in
      try state.requireOpen()
      return MemoryView(state.spaces, state.lease)
    }
  }

  /// The bytes of all keys and values, counted as they come and go.
  ///
  /// - Throws: `closed`, `suspended`.
  public func size() throws(StoreError) -> StoreSize {
    let live = try state.withLock { (state: inout State) throws(StoreError) -> Int in
      try state.requireOpen()
      return state.live
    }
    return StoreSize(live: live, free: 0, file: live)
  }

  /// Does nothing: there is nothing to give back.
  ///
  /// - Returns: false.
  /// - Throws: `closed`, `suspended`.
  public func tidy(_ slice: Duration) throws(StoreError) -> Bool {
    try state.withLock { (state: inout State) throws(StoreError) in try state.requireOpen() }
    return false
  }

  /// Refuses every call but `resume` and `close` from now on, and ends the open views.
  ///
  /// - Throws: `closed`.
  public func suspend() throws(StoreError) {
    try state.withLock { (state: inout State) throws(StoreError) in
      if state.phase == .suspended { return }
      try state.requireOpen()
      state.end(.suspended)
    }
  }

  /// Takes calls again after `suspend`.
  ///
  /// - Throws: `closed`.
  public func resume() throws(StoreError) {
    try state.withLock { (state: inout State) throws(StoreError) in
      guard state.phase == .suspended else { return try state.requireOpen() }
      state.phase = .open
      state.lease = MemoryLease()
    }
  }

  /// Forgets everything; open views throw `closed` at their next read.
  public func close() throws(StoreError) {
    state.withLock { state in
      state.end(.closed)
      state.spaces = [:]
    }
  }
}

/// How long views live: from opening or `resume` to the next `suspend` or `close`.
final class MemoryLease: Sendable {
  let isOver = Atomic(false)
}

extension MemoryStore {
  /// None: nothing outlives the store.
  public var findings: [StoreFinding] { [] }

  /// Does nothing: there are no findings.
  public func acknowledgeFindings() throws(StoreError) {}

  /// Finds nothing: there are no files.
  public func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool { true }
}
