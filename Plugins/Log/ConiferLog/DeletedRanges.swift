@_spi(Stores) import ConiferKeyValue
import ConiferStorage

/// Ranges of keys that are all deleted, so that walks can skip them.
///
/// A queue is emptied from its front, and its removed keys stay in the index until tables are
/// merged. Without this, each read of the front would pass all removed keys. The ranges are kept
/// only in memory: a walk that has passed one remembers it, and a commit that stores a key cuts the
/// range there.
struct DeletedRanges: Sendable {
  /// The minimum number of keys of a remembered range.
  static let minimumKeys = 8
  private static let limit = 64

  /// By the first deleted key, the first key after it that may exist.
  private var highs = SortedBytes<Bytes>()

  var isEmpty: Bool { highs.isEmpty }

  /// The range that contains a stored key.
  func around(_ key: Bytes) -> (low: Bytes, high: Bytes)? {
    guard let place = highs.lastAtOrBefore(key) else { return nil }
    let (low, high) = highs.entry(at: place)
    return compareBytes(key, high) < 0 ? (low, high) : nil
  }

  /// Remembers a range, merged with those that it touches.
  mutating func add(_ low: Bytes, _ high: Bytes) {
    var (low, high) = (low, high)
    if let place = highs.lastAtOrBefore(low) {
      let before = highs.entry(at: place)
      if compareBytes(low, before.value) <= 0 {
        low = before.key
        if compareBytes(high, before.value) < 0 { high = before.value }
      }
    }
    while let place = highs.firstAtOrAfter(low), case let next = highs.entry(at: place),
      compareBytes(next.key, high) <= 0
    {
      if compareBytes(high, next.value) < 0 { high = next.value }
      highs[next.key] = nil
    }
    if highs.count >= Self.limit, let first = highs.first {
      highs[highs.entry(at: first).key] = nil
    }
    highs[low] = high
  }

  /// Ends the range at a key that is stored.
  mutating func put(_ key: Bytes) {
    guard let (low, _) = around(key) else { return }
    highs[low] = compareBytes(low, key) < 0 ? key : nil
  }
}
