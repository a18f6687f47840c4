/// Transactions whose function is to run, as a priority queue: the one that was begun first comes first.
/// Adding and taking one costs the logarithm of their number.
struct RunQueue: Sendable {
  typealias Entry = (order: UInt64, id: TransactionID)

  /// A binary heap by order.
  private var entries: [Entry] = []

  var first: Entry? { entries.first }

  mutating func insert(_ entry: Entry) {
    entries.append(entry)
    var child = entries.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].order < entries[parent].order else { return }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  mutating func removeFirst() {
    guard let last = entries.popLast(), !entries.isEmpty else { return }
    entries[0] = last
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < entries.count && entries[child].order < entries[least].order {
        least = child
      }
      guard least != parent else { return }
      entries.swapAt(least, parent)
      parent = least
    }
  }
}
