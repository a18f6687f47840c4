import ConiferKeyValue
import Synchronization

/// The decoded runs that were used last, within a budget of bytes; safe on any thread.
///
/// A run is kept from its second reading on: what is read once, as by an export, drives nothing out.
/// Nothing is ever stale here: a run is used where the store holds the bytes that it was read from.
final class RunCache: Sendable {
  private struct Key: Hashable {
    let tree: TreeID
    let number: UInt64
  }

  private struct Slot {
    let key: Key
    var run: DecodedRun
    let size: Int
    /// Whether it was used since the hand passed by.
    var isUsed = false
    /// The last moment at which it was seen to be stored like this.
    var moment: UInt64 = 0
    /// The key of the run behind it, nil for none, and the last moment at which that was seen.
    var next: Bytes?
    var nextMoment: UInt64 = 0
  }

  /// What is known of the run behind another.
  enum Next {
    case unknown
    case none
    case run(DecodedRun)
  }

  /// A reading of a run that was not kept.
  private struct Reading {
    var key = Key(tree: TreeID(rawValue: 0), number: 0)
    var time = 0
  }

  private struct State {
    var slots: [Slot] = []
    var places: [Key: Int] = [:]
    /// The same by the key in the store, for those whose separators stand there whole.
    var order: [TreeID: SortedBytes<Int>] = [:]
    /// Where the search for a run that may go begins.
    var hand = 0
    var size = 0
    /// The run that was written last.
    var newest: (key: Key, run: DecodedRun)?
    /// The last readings by a hash of their keys, and how many there were.
    var readings: [Reading] = []
    var clock = 0
  }

  private static let remembered = 1024

  private let budget: Int
  private let state = Mutex(State())

  /// A cache.
  ///
  /// - Parameter budget: about how many bytes it may take; 0 keeps nothing.
  init(budget: Int) { self.budget = budget }

  /// The run that was read from a lent record, if it is kept.
  func find(_ tree: TreeID, _ storeKey: RawSpan, _ value: RawSpan) -> DecodedRun? {
    guard budget > 0, let number = RunHead.number(value) else { return nil }
    let key = Key(tree: tree, number: number)
    let run: DecodedRun? = state.withLock { state in
      guard let place = state.places[key] else { return nil }
      state.slots[place].isUsed = true
      return state.slots[place].run
    }
    guard let run, run.isStored(as: storeKey, value) else { return nil }
    return run
  }

  /// Notes that a run is read that is not kept, and tells whether it is worth keeping.
  func isWelcome(_ tree: TreeID, _ head: RunHead) -> Bool {
    guard budget > 0, !head.value.isEmpty else { return false }
    let key = Key(tree: tree, number: head.number)
    return state.withLock { state in
      if state.readings.isEmpty {
        state.readings = [Reading](repeating: Reading(), count: Self.remembered)
      }
      let place = Int(UInt(bitPattern: key.hashValue) % UInt(Self.remembered))
      let last = state.readings[place]
      state.clock += 1
      state.readings[place] = Reading(key: key, time: state.clock)
      guard last.key == key, last.time > 0 else { return false }
      // What comes back more seldom than all that is kept would be gone before it does.
      return state.size < budget / 2 || state.clock - last.time <= state.slots.count
    }
  }

  /// Keeps a run; others that were not used lately go.
  func add(_ tree: TreeID, _ run: DecodedRun) {
    let size = run.size
    guard size <= budget / 4 else { return }
    let key = Key(tree: tree, number: run.head.number)
    state.withLock { state in
      if let place = state.places[key] { remove(place, &state) }
      while state.size + size > budget, !state.slots.isEmpty {
        if state.hand >= state.slots.count { state.hand = 0 }
        if state.slots[state.hand].isUsed {
          state.slots[state.hand].isUsed = false
          state.hand += 1
        } else {
          remove(state.hand, &state)
        }
      }
      state.places[key] = state.slots.count
      if !run.head.isCut {
        state.order[tree, default: SortedBytes()][run.head.separator] = state.slots.count
      }
      state.slots.append(Slot(key: key, run: run, size: size))
      state.size += size
    }
  }

  /// Keeps the run that a commit writes last, until the next one, beside those that are read: whoever
  /// writes behind it needs it.
  func note(newest head: RunHead, _ entries: EntryList, _ range: Range<Int>, _ tree: TreeID) {
    guard budget > 0 else { return }
    var own = EntryList()
    own.append(entries, range)
    let newest = (Key(tree: tree, number: head.number), DecodedRun(head, [], own))
    state.withLock { $0.newest = newest }
  }

  /// The head with the run that was written last at hand, if it is that one's; for who writes, since
  /// what is read must come to be kept.
  func withNewest(_ head: RunHead, _ tree: TreeID) -> RunHead {
    guard head.decoded == nil, budget > 0 else { return head }
    let newest = state.withLock { $0.newest }
    guard let newest, newest.key == Key(tree: tree, number: head.number),
      newest.run.head.storeKey == head.storeKey, newest.run.head.value == head.value
    else { return head }
    return newest.run.kept
  }

  private func remove(_ place: Int, _ state: inout State) {
    let slot = state.slots[place]
    state.places[slot.key] = nil
    move(slot, from: place, to: nil, &state)
    state.size -= slot.size
    let last = state.slots.removeLast()
    if place < state.slots.count {
      state.slots[place] = last
      state.places[last.key] = place
      move(last, from: state.slots.count, to: place, &state)
    }
  }

  /// Changes the place of a run in the order, unless another one has its separator by now.
  private func move(_ slot: Slot, from place: Int, to other: Int?, _ state: inout State) {
    let separator = slot.run.head.separator
    guard state.order[slot.key.tree]?[separator] == place else { return }
    state.order[slot.key.tree]?[separator] = other
    if state.order[slot.key.tree]?.isEmpty == true { state.order[slot.key.tree] = nil }
  }

  // MARK: Moments

  /// The run that a path key belongs to at a moment, if that is known.
  func covering(_ tree: TreeID, _ key: Bytes, _ moment: Moment) -> DecodedRun? {
    guard budget > 0 else { return nil }
    return state.withLock { state -> DecodedRun? in
      guard let place = place(tree, key, moment, state) else { return nil }
      // Up to its last entry it is this run's for sure; behind that, up to the next one.
      let entries = state.slots[place].run.entries
      if entries.isEmpty || entries.compareKey(entries.count - 1, key) < 0 {
        guard moment.sees(state.slots[place].nextMoment) else { return nil }
        if let next = state.slots[place].next, !bytesPrecede(key, Bytes(next.dropFirst(4))) {
          return nil
        }
      }
      state.slots[place].isUsed = true
      return state.slots[place].run
    }
  }

  /// The run that holds a path key at a moment, if that is known and any kept one does.
  func nearest(_ tree: TreeID, _ key: Bytes, _ moment: Moment) -> DecodedRun? {
    guard budget > 0 else { return nil }
    return state.withLock { state -> DecodedRun? in
      guard let place = place(tree, key, moment, state) else { return nil }
      state.slots[place].isUsed = true
      return state.slots[place].run
    }
  }

  /// The place of the last run that begins at or before a path key, if it is known at a moment.
  private func place(
    _ tree: TreeID, _ key: Bytes, _ moment: Moment, _ state: borrowing State
  ) -> Int? {
    guard let order = state.order[tree], let position = order.lastAtOrBefore(key) else {
      return nil
    }
    let place = order.entry(at: position).value
    return moment.sees(state.slots[place].moment) ? place : nil
  }

  /// The run behind the one with a key of the store at a moment.
  func next(_ tree: TreeID, _ storeKey: Bytes, _ moment: Moment) -> Next {
    state.withLock { state in
      guard let order = state.order[tree], let place = order[Bytes(storeKey.dropFirst(4))],
        moment.sees(state.slots[place].nextMoment), moment.sees(state.slots[place].moment)
      else { return .unknown }
      guard let next = state.slots[place].next else { return .none }
      guard let place = order[Bytes(next.dropFirst(4))], moment.sees(state.slots[place].moment)
      else { return .unknown }
      state.slots[place].isUsed = true
      return .run(state.slots[place].run)
    }
  }

  /// Notes that a kept run is stored like this at a moment.
  func confirm(_ tree: TreeID, _ run: DecodedRun, _ moment: Moment) {
    guard !run.head.isCut else { return }
    state.withLock { state in
      guard let place = state.places[Key(tree: tree, number: run.head.number)],
        state.slots[place].run === run
      else { return }
      state.slots[place].moment = moment.number
    }
  }

  /// Notes which run is behind a kept one at a moment.
  func note(_ next: RunHead?, after storeKey: Bytes, _ tree: TreeID, _ moment: Moment) {
    guard budget > 0, next?.isCut != true else { return }
    state.withLock { state in
      guard let place = state.order[tree]?[Bytes(storeKey.dropFirst(4))],
        moment.sees(state.slots[place].moment)
      else { return }
      state.slots[place].next = next?.storeKey
      state.slots[place].nextMoment = moment.number
    }
  }

  /// How many runs are kept, and about what they take.
  var usage: (runs: Int, bytes: Int) {
    state.withLock { ($0.slots.count, $0.size) }
  }
}
