import ConiferDocument

/// One document's change by one commit.
struct DocumentChange: Sendable {
  /// Its place among all changes of the database.
  let number: Int64
  /// When it was made.
  let time: Timestamp
  /// The document before, as the store had it: found or missing.
  let before: Document
  /// The document after.
  let after: Document

  var path: DocumentPath { after.path }
  /// About how many bytes it takes.
  var size: Int { path.size + (before.fields?.size ?? 0) + (after.fields?.size ?? 0) }
}

/// The newest changes of a database, in order, as many as the limits allow.
struct ChangeHistory: Sendable {
  private let limits: DocumentHistoryLimits
  /// The changes from `start` on; those before it were let go, and leave the array now and then.
  private var changes: [DocumentChange] = []
  private var start = 0
  private(set) var bytes = 0
  /// The moment after which all changes are here.
  private(set) var floor: Timestamp
  /// The number of the next change.
  private(set) var next: Int64

  /// - Parameters:
  ///   - floor: the moment after which there are no changes but those that are appended.
  ///   - next: the number of the first of them.
  init(_ limits: DocumentHistoryLimits, floor: Timestamp, next: Int64) {
    self.limits = limits
    self.floor = floor
    self.next = next
  }

  /// The changes that are here.
  var all: ArraySlice<DocumentChange> { changes[start...] }
  /// The number of the oldest change that is here, or of the next one.
  var first: Int64 { all.first?.number ?? next }

  /// The changes from a number on; nil when some of them are no longer here.
  func changes(from number: Int64) -> ArraySlice<DocumentChange>? {
    guard number >= first, number <= next else { return nil }
    return changes[(start + Int(number - first))...]
  }

  /// The changes after a moment; nil when some of them are no longer here.
  func changes(after time: Timestamp) -> ArraySlice<DocumentChange>? {
    guard time >= floor else { return nil }
    var (low, high) = (start, changes.count)
    while low < high {
      let middle = (low + high) / 2
      if changes[middle].time <= time { low = middle + 1 } else { high = middle }
    }
    return changes[low...]
  }

  /// Takes in a change, and lets the oldest go where the limits are exceeded.
  mutating func append(_ change: DocumentChange) {
    let kept = room(for: [change])
    changes.append(change)
    bytes += change.size
    next = change.number + 1
    while first < kept.first {
      floor = changes[start].time
      bytes -= changes[start].size
      start += 1
    }
    if start > 64, start > changes.count / 2 {
      changes.removeFirst(start)
      start = 0
    }
  }

  /// What is left when changes are appended: the number of the oldest change, and the moment after which all are here.
  func room(for new: [DocumentChange]) -> (first: Int64, floor: Timestamp) {
    var count = all.count + new.count
    var size = bytes + new.reduce(0) { $0 + $1.size }
    var kept = (first: first, floor: floor)
    for change in [all, new[...]].joined() {
      guard count > limits.changes || size > limits.bytes else { break }
      count -= 1
      size -= change.size
      kept = (change.number + 1, change.time)
    }
    return kept
  }
}
