import ConiferTree

/// The pending writes of exactly one path, as they were made.
struct PathWrites {
  struct Entry {
    let position: LanePosition
    var node: Node
    let isVisible: Bool
    /// Removed, but kept where it is until a sweep drops all removed ones.
    var isRemoved = false
  }

  private var entries: ContiguousArray<Entry> = []
  private var removed = 0

  var isEmpty: Bool { entries.isEmpty }

  /// Adds a write; a second node of the same write replaces the first.
  mutating func insert(_ position: LanePosition, _ node: Node, isVisible: Bool) {
    let entry = Entry(position: position, node: node, isVisible: isVisible)
    let index = index(of: position)
    if index < entries.count, entries[index].position == position {
      if entries[index].isRemoved { removed -= 1 }
      entries[index] = entry
    } else {
      entries.insert(entry, at: index)
    }
  }

  mutating func remove(_ position: LanePosition) {
    let index = index(of: position)
    guard index < entries.count, entries[index].position == position, !entries[index].isRemoved
    else { return }
    entries[index].isRemoved = true
    entries[index].node = .empty
    removed += 1
    while let last = entries.last, last.isRemoved {
      entries.removeLast()
      removed -= 1
    }
    if removed > entries.count / 2 {
      entries.removeAll { $0.isRemoved }
      removed = 0
    }
  }

  /// The newest write that counts.
  func newest(_ filter: OverlayFilter, _ visits: OverlayVisits) -> Entry? {
    for entry in candidates(filter) {
      visits.count += 1
      if !entry.isRemoved && filter.counts(entry) { return entry }
    }
    return nil
  }

  /// Whether a write that counts and is newer than another one holds data, rather than deletes.
  func holdsData(
    newerThan floor: LanePosition?, _ filter: OverlayFilter, _ visits: OverlayVisits
  ) -> Bool {
    for entry in candidates(filter) {
      visits.count += 1
      if let floor, entry.position <= floor { return false }
      if !entry.isRemoved && !entry.node.isEmpty && filter.counts(entry) { return true }
    }
    return false
  }

  /// The writes that may count, the newest first.
  private func candidates(_ filter: OverlayFilter) -> ReversedCollection<Slice> {
    entries[..<(filter.end.map { index(of: $0) } ?? entries.count)].reversed()
  }
  private typealias Slice = ArraySlice<Entry>

  /// The index of a write, or where it would be.
  private func index(of position: LanePosition) -> Int {
    if let last = entries.last, last.position < position { return entries.count }
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) >> 1
      if entries[middle].position < position { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
