import ConiferKeyValue
import ConiferLeafStore

/// The number above which new lanes begin, in tree 0 of the system space. A lost lane may have
/// assigned all numbers up to it, and no number may repeat.
enum QueueFloor {
  /// More numbers than any lane assigns between two losses.
  private static let step: UInt64 = 1 << 40
  /// The highest floor: a lane has numbers left above it.
  private static let last = Numbers.lastWrite - step
  private static let key = SystemKey.queueFloor.bytes

  /// The number; 0 if nothing was ever lost.
  static func read(_ view: any OrderedView) throws(StoreError) -> UInt64 {
    guard let value = try view.value(Spaces.system, key) else { return 0 }
    guard let payload = Record.open(Spaces.system, key, value), payload.count == 8 else {
      throw Damage.error(Spaces.system, key)
    }
    return min(StoreKey.number(atEndOf: payload), last)
  }

  /// Raises it to the floor of another store.
  static func raise(_ tx: LeafTransaction, to number: UInt64) throws(StoreError) {
    guard try read(tx) < number else { return }
    try tx.put(
      Spaces.system, key, payload: StoreKey.number(min(number, last)))
  }

  /// A number above all that lanes may have assigned in a store with a floor, after some losses.
  static func above(_ floor: WriteID?, losses: Int = 1) -> WriteID {
    WriteID(rawValue: (floor?.rawValue ?? 0) + UInt64(losses) * step)
  }

  /// Raises it, when some of the queue may have been lost.
  static func raise(_ tx: LeafTransaction) throws(StoreError) {
    try tx.put(
      Spaces.system, key, payload: StoreKey.number(min(try read(tx) + step, last)))
  }
}
