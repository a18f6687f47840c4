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
  }

  /// A reading of a run that was not kept.
  private struct Reading {
    var key = Key(tree: TreeID(rawValue: 0), number: 0)
    var time = 0
  }

  private struct State {
    var slots: [Slot] = []
    var places: [Key: Int] = [:]
    /// Where the search for a run that may go begins.
    var hand = 0
    var size = 0
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
      state.slots.append(Slot(key: key, run: run, size: size))
      state.size += size
    }
  }

  private func remove(_ place: Int, _ state: inout State) {
    let slot = state.slots[place]
    state.places[slot.key] = nil
    state.size -= slot.size
    let last = state.slots.removeLast()
    if place < state.slots.count {
      state.slots[place] = last
      state.places[last.key] = place
    }
  }

  /// How many runs are kept, and about what they take.
  var usage: (runs: Int, bytes: Int) {
    state.withLock { ($0.slots.count, $0.size) }
  }
}
