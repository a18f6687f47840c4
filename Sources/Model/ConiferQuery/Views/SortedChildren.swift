import ConiferTree

/// Children in an order that is not the order of keys.
///
/// They are stored in short runs, so that a change costs a search and one short move.
struct SortedChildren: Sendable {
  /// A child's place: its index value, then its key.
  struct Entry: Sendable {
    let value: Node
    let key: Key

    static func compare(_ a: Entry, _ b: Entry) -> Int {
      let order = Node.compareValues(a.value, b.value)
      return order == 0 ? Key.compare(a.key, b.key) : order
    }
  }

  /// The most entries of a run.
  private static let capacity = 128

  /// Runs of at least one entry.
  private var runs: [[Entry]] = []
  private(set) var count = 0

  /// Sorts entries that come in any order, each key once.
  init(_ entries: [Entry]) {
    let sorted = entries.sorted { Entry.compare($0, $1) < 0 }
    let length = SortedChildren.capacity / 2
    runs = stride(from: 0, to: sorted.count, by: length).map {
      Array(sorted[$0..<min($0 + length, sorted.count)])
    }
    count = sorted.count
  }

  var first: Entry? { runs.first?.first }
  var last: Entry? { runs.last?.last }

  mutating func insert(_ entry: Entry) {
    let place = place(of: entry)
    guard place.run < runs.count else {
      runs.append([entry])
      count = 1
      return
    }
    if place.isFound { return }
    runs[place.run].insert(entry, at: place.offset)
    count += 1
    let length = runs[place.run].count
    guard length > SortedChildren.capacity else { return }
    let upper = Array(runs[place.run][(length / 2)...])
    runs[place.run].removeSubrange((length / 2)...)
    runs.insert(upper, at: place.run + 1)
  }

  mutating func remove(_ entry: Entry) {
    let place = place(of: entry)
    guard place.isFound else { return }
    runs[place.run].remove(at: place.offset)
    if runs[place.run].isEmpty { runs.remove(at: place.run) }
    count -= 1
  }

  func contains(_ entry: Entry) -> Bool { place(of: entry).isFound }

  /// The last entry before a place, which need not be taken.
  func before(_ entry: Entry) -> Entry? {
    let place = place(of: entry)
    if place.offset > 0 { return runs[place.run][place.offset - 1] }
    return place.run > 0 ? runs[place.run - 1].last : nil
  }

  /// The first entry after a place, which need not be taken.
  func after(_ entry: Entry) -> Entry? {
    let place = place(of: entry)
    guard place.run < runs.count else { return nil }
    let next = place.isFound ? place.offset + 1 : place.offset
    if next < runs[place.run].count { return runs[place.run][next] }
    return place.run + 1 < runs.count ? runs[place.run + 1].first : nil
  }

  /// The first or the last keys in order.
  func keys(_ limit: QuerySpec.Limit) -> [Key] {
    var keys: [Key] = []
    switch limit.side {
    case .first:
      for run in runs where keys.count < limit.count {
        keys += run.prefix(limit.count - keys.count).map(\.key)
      }
    case .last:
      for run in runs.reversed() where keys.count < limit.count {
        keys += run.suffix(limit.count - keys.count).reversed().map(\.key)
      }
      keys.reverse()
    }
    return keys
  }

  /// The position where an entry is or would be inserted, and how many entries were compared to
  /// find it.
  func place(of entry: Entry) -> (run: Int, offset: Int, isFound: Bool, comparisons: Int) {
    var (low, high) = (0, runs.count)
    var comparisons = 0
    while high - low > 1 {
      let middle = (low + high) >> 1
      comparisons += 1
      if Entry.compare(runs[middle][0], entry) <= 0 { low = middle } else { high = middle }
    }
    guard low < runs.count else { return (0, 0, false, comparisons) }
    let run = runs[low]
    var (from, to) = (0, run.count)
    while from < to {
      let middle = (from + to) >> 1
      comparisons += 1
      let order = Entry.compare(run[middle], entry)
      if order == 0 { return (low, middle, true, comparisons) }
      if order < 0 { from = middle + 1 } else { to = middle }
    }
    return (low, from, false, comparisons)
  }
}
