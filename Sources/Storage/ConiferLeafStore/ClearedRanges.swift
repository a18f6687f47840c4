package import ConiferKeyValue

/// Ranges of one space that a transaction cleared, in order; they do not touch each other.
package struct ClearedRanges {
  package private(set) var ranges: [(from: Bytes, to: Bytes)] = []

  /// Adds `from ..< to`, joined with the ranges that it touches.
  package mutating func add(from: Bytes, to: Bytes) {
    guard bytesPrecede(from, to) else { return }
    var (from, to) = (from, to)
    let first = ranges.firstIndex { !bytesPrecede($0.to, from) } ?? ranges.count
    var end = first
    while end < ranges.count, !bytesPrecede(to, ranges[end].from) {
      if bytesPrecede(ranges[end].from, from) { from = ranges[end].from }
      if bytesPrecede(to, ranges[end].to) { to = ranges[end].to }
      end += 1
    }
    ranges.replaceSubrange(first..<end, with: [(from, to)])
  }

  /// The range that holds a key.
  package func containing(_ key: RawSpan) -> (from: Bytes, to: Bytes)? {
    find { key.compare($0) }
  }

  /// Whether a range holds a key.
  package func contains(_ key: Bytes) -> Bool { find { compareBytes(key, $0) } != nil }

  /// - Parameter order: orders the key and another.
  private func find(_ order: (Bytes) -> Int) -> (from: Bytes, to: Bytes)? {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if order(ranges[middle].to) >= 0 { low = middle + 1 } else { high = middle }
    }
    guard low < ranges.count, order(ranges[low].from) >= 0 else { return nil }
    return ranges[low]
  }
}
