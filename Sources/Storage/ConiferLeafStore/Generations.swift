@_spi(Stores) package import ConiferKeyValue
import Synchronization

/// What is in memory of the newest generation of a store: decoded runs, and objects made of records.
/// Safe on any thread.
///
/// A generation is the state of a store between two changes. What is kept has the number of the
/// generation at which it was read, and is true from there up to the newest one: whoever changes the
/// store takes out what changed in the moment that the next generation begins.
package final class Generations: Sendable {
  private enum Phase {
    /// Nobody changes the store.
    case stable
    /// The newest generation is on its way out.
    case changing
    /// The store is let go of: nothing is known of it.
    case stopped
  }

  private struct State {
    var number: UInt64 = 1
    var phase = Phase.stable
    var runs: RunCache
    var objects = ObjectCache()
  }

  private let state: Mutex<State>

  /// - Parameter cache: about how many bytes of decoded runs are kept.
  package init(cache: Int) { state = Mutex(State(runs: RunCache(budget: cache))) }

  /// The newest generation; nil while the store is let go of. The store may be changing: what memory knows
  /// is of this generation still.
  package var newest: UInt64? { state.withLock { $0.phase == .stopped ? nil : $0.number } }

  /// The newest generation; nil while it changes, so that it is not known what a view shows.
  package var stable: UInt64? { state.withLock { $0.phase == .stable ? $0.number : nil } }

  // MARK: Changing

  /// Says that a change begins.
  package func begin() {
    state.withLock { if $0.phase == .stable { $0.phase = .changing } }
  }

  /// Says that a change is over, and what it changed.
  package func publish(_ changes: LeafTransaction.State) {
    state.withLock { state in
      state.number += 1
      for (space, records) in changes.overlays {
        switch space {
        case Spaces.runs: records.forEach { state.runs.change($0, isGone: $1 == nil) }
        case Spaces.deltas: records.forEach { key, _ in state.runs.changeDeltas(key) }
        default:
          guard state.objects.has(space) else { continue }
          records.forEach { key, _ in state.objects.remove(space, key) }
        }
      }
      for (space, cleared) in changes.cleared {
        // Rare: a tree is wiped, or large.
        if space == Spaces.runs || space == Spaces.deltas { state.runs.forgetAll() }
        for range in cleared.ranges { state.objects.remove(space, from: range.from, to: range.to) }
      }
      if state.phase == .changing { state.phase = .stable }
    }
  }

  /// Says that a change is over that may have changed anything.
  package func publishUnknown() {
    state.withLock { state in
      state.number += 1
      state.runs.forgetAll()
      state.objects = ObjectCache()
      if state.phase == .changing { state.phase = .stable }
    }
  }

  /// Nothing is known until `resume`: the store is let go of.
  package func stop() { state.withLock { $0.phase = .stopped } }

  /// The store was taken again, and may hold anything.
  package func resume() {
    publishUnknown()
    state.withLock { $0.phase = .stable }
  }

  // MARK: Objects

  /// The object of a tree's record, if it is known at a generation.
  package func object(
    _ space: Space, _ tree: TreeID, at generation: UInt64
  ) -> (any AnyObject & Sendable)? {
    state.withLock { $0.objects.find(space, tree, at: generation) }
  }

  /// Keeps an object made of a record as it was at a generation, if that is still the newest one.
  package func keep(
    _ object: any AnyObject & Sendable, _ space: Space, _ tree: TreeID, _ key: Bytes,
    at generation: UInt64
  ) {
    state.withLock { state in
      guard state.number == generation else { return }
      state.objects.add(object, space, tree, key, at: generation)
    }
  }

  // MARK: Runs

  /// Does something with the decoded runs.
  package func withRuns<R: Sendable>(_ body: (inout RunCache) -> R) -> R {
    state.withLock { body(&$0.runs) }
  }

  /// Notes that a kept run is stored like this at a generation, if that is still the newest one.
  package func confirm(_ tree: TreeID, _ run: DecodedRun, at generation: UInt64) {
    state.withLock { state in
      guard state.number == generation else { return }
      state.runs.confirm(tree, run, at: generation)
    }
  }

  /// Notes which run is behind another at a generation, if that is still the newest one.
  package func note(_ next: RunHead?, after storeKey: Bytes, _ tree: TreeID, at generation: UInt64)
  {
    state.withLock { state in
      guard state.number == generation else { return }
      state.runs.note(next, after: storeKey, tree, at: generation)
    }
  }
}

/// Objects made of records, at most one a tree and space.
private struct ObjectCache {
  private struct Entry {
    let tree: TreeID
    /// Of the record.
    let key: Bytes
    let object: any AnyObject & Sendable
    /// The generation at which it was made.
    let seen: UInt64
  }

  /// As many trees as are in use; an app has a handful.
  private static let capacity = 64

  private var entries: [Space: [Entry]] = [:]

  func has(_ space: Space) -> Bool { entries[space]?.isEmpty == false }

  func find(
    _ space: Space, _ tree: TreeID, at generation: UInt64
  ) -> (any AnyObject & Sendable)? {
    entries[space]?.first { $0.tree == tree && $0.seen <= generation }?.object
  }

  mutating func add(
    _ object: any AnyObject & Sendable, _ space: Space, _ tree: TreeID, _ key: Bytes,
    at generation: UInt64
  ) {
    entries[space]?.removeAll { $0.tree == tree }
    if entries[space]?.count ?? 0 >= Self.capacity { entries[space]?.removeFirst() }
    entries[space, default: []].append(
      Entry(tree: tree, key: key, object: object, seen: generation))
  }

  mutating func remove(_ space: Space, _ key: Bytes) {
    entries[space]?.removeAll { $0.key == key }
  }

  mutating func remove(_ space: Space, from low: Bytes, to high: Bytes) {
    entries[space]?.removeAll { !bytesPrecede($0.key, low) && bytesPrecede($0.key, high) }
  }
}
