import Synchronization

/// The recently read decoded blocks of all tables.
///
/// The cache has two halves. A block that is read goes into the young half; when that is full, it
/// becomes the old half, and blocks of the former old half that were not read since are dropped.
final class BlockCache: Sendable {
  struct Place: Hashable {
    let table: UInt64
    let block: Int
  }

  private struct State {
    var young: [Place: Block] = [:]
    var old: [Place: Block] = [:]
    var weight = 0

    mutating func add(_ place: Place, _ block: Block, half: Int) {
      young[place] = block
      weight += block.weight
      guard weight > half else { return }
      old = young
      young = [:]
      weight = 0
    }
  }

  private let half: Int
  private let state = Mutex(State())

  init(bytes: Int) { half = bytes / 2 }

  subscript(place: Place) -> Block? {
    state.withLock { state in
      if let block = state.young[place] { return block }
      guard let block = state.old[place] else { return nil }
      state.add(place, block, half: half)
      return block
    }
  }

  func add(_ place: Place, _ block: Block) {
    state.withLock { $0.add(place, block, half: half) }
  }

  /// Drops the blocks of a table that nobody will look up again.
  func forget(_ table: UInt64) {
    state.withLock { state in
      state.old = state.old.filter { $0.key.table != table }
      state.young = state.young.filter { $0.key.table != table }
      state.weight = state.young.values.reduce(0) { $0 + $1.weight }
    }
  }
}
