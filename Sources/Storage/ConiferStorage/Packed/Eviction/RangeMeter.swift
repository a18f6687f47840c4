import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Measures the size of the leaves in ranges of path keys: complete runs exactly, runs at an edge
/// by their share of leaves.
///
/// For a complete run without deltas and large leaves, its head is enough; other runs are read with
/// a cursor.
struct RangeMeter {
  struct Sum: Equatable {
    var bytes = 0
    var leaves = 0
  }

  let runs: RunReader

  /// The sum over ranges that do not overlap, ascending.
  func measure(_ ranges: [PruneRanges.KeyRange]) throws(StoreError) -> Sum {
    var sum = Sum()
    guard let first = ranges.first, let last = ranges.last else { return sum }
    var cursor = LeafCursor(runs, first.low, last.high)
    var cursorSize: (storeKey: Bytes, size: Int)?
    for range in ranges {
      var run = try runs.run(coveringOrAfter: range.low)
      while let here = run, compareBytes(here.separator, range.high) < 0 {
        let next = try runs.run(after: here.storeKey)
        let isWhole =
          compareBytes(range.low, here.separator) <= 0
          && next.map { compareBytes($0.separator, range.high) <= 0 } ?? false
        if isWhole, here.flags & RunHead.hasLargeLeaves == 0,
          let size = try sizeWithoutDeltas(here)
        {
          sum.bytes += size
          sum.leaves += here.count
        } else {
          let start = bytesPrecede(here.separator, range.low) ? range.low : here.separator
          let isFound = try cursor.seek(start)
          if isFound, cursor.run?.storeKey == here.storeKey {
            if cursorSize?.storeKey != here.storeKey {
              cursorSize = (here.storeKey, try size(here))
            }
            try add(cursor.entries, cursorSize?.size ?? 0, range, to: &sum)
          }
        }
        run = next
      }
    }
    return sum
  }

  /// Adds the entries of one run that lie in a range.
  private func add(
    _ entries: EntryList, _ size: Int, _ range: PruneRanges.KeyRange, to sum: inout Sum
  ) throws(StoreError) {
    let part = entries.lowerBound(range.low)..<entries.lowerBound(range.high)
    let whole = entries.weight(0..<entries.count)
    let share = entries.weight(part)
    if whole > 0 { sum.bytes += Int((Double(size) * Double(share) / Double(whole)).rounded()) }
    sum.leaves += part.count
    for index in part where entries.isLargeLeaf(index) {
      guard let number = LargeLeaf.number(entries[index]) else { continue }
      let prefix = LargeLeaf.prefix(runs.tree, number)
      try runs.view.walk(Spaces.chunks, .atOrAfter(prefix)) { key, value in
        guard key.starts(with: prefix) else { return .stop }
        sum.bytes += 1 + key.byteCount + value.byteCount
        return .next
      }
    }
  }

  /// What a run's record and its deltas take.
  private func size(_ head: RunHead) throws(StoreError) -> Int {
    var size = 1 + head.storeKey.count + head.value.count
    for (key, bytes, _) in try runs.deltas(of: head) { size += 1 + key.count + bytes }
    return size
  }

  private func sizeWithoutDeltas(_ head: RunHead) throws(StoreError) -> Int? {
    let prefix = DeltaRecord.prefix(runs.tree, head.number)
    guard try runs.view.keys(Spaces.deltas, prefix: prefix, limit: 1).isEmpty else { return nil }
    return 1 + head.storeKey.count + head.value.count
  }
}
