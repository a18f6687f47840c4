@_spi(Stores) import ConiferKeyValue
import ConiferStorage

/// Stretches of keys that are all gone, so that walks need not pass them again.
///
/// A queue is emptied from its front, and until tables are merged its removed keys stay in the index:
/// without this, each look at the front would pass all that were ever removed. In memory alone; a walk
/// that has passed a stretch remembers it, and a commit that stores a key ends it there.
struct Gaps: Sendable {
  /// So many keys make a stretch worth remembering.
  static let worth = 8
  private static let limit = 64

  /// By the first key that is gone, the first key behind that may be there.
  private var highs = SortedBytes<Bytes>()

  var isEmpty: Bool { highs.isEmpty }

  /// The stretch in which a stored key lies.
  func around(_ key: Bytes) -> (low: Bytes, high: Bytes)? {
    guard let place = highs.lastAtOrBefore(key) else { return nil }
    let (low, high) = highs.entry(at: place)
    return compareBytes(key, high) < 0 ? (low, high) : nil
  }

  /// Remembers a stretch, together with those that it meets.
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

  /// Ends the stretch in which a key is stored.
  mutating func put(_ key: Bytes) {
    guard let (low, _) = around(key) else { return }
    highs[low] = compareBytes(low, key) < 0 ? key : nil
  }
}
