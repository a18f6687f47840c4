import ConiferQuery
import ConiferWire

/// The listens that the app has, in the order in which it began them.
struct WantedListens: Sendable {
  private var order: [Listen: UInt64] = [:]
  private var last: UInt64 = 0

  /// Takes in a listen; returns whether it is new.
  mutating func add(_ listen: Listen) -> Bool {
    guard order[listen] == nil else { return false }
    last += 1
    order[listen] = last
    return true
  }

  /// Takes a listen out; returns whether it was there.
  @discardableResult
  mutating func remove(_ listen: Listen) -> Bool { order.removeValue(forKey: listen) != nil }

  /// The listens that a test picks, in order.
  func all(where isWanted: (Listen) -> Bool) -> [Listen] {
    order.filter { isWanted($0.key) }.sorted { $0.value < $1.value }.map(\.key)
  }
}
