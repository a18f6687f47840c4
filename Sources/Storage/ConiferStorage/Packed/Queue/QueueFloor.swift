import ConiferKeyValue
import ConiferLeafStore

/// The number above which new writes are numbered, in tree 0 of the system space. A lost lane, or the
/// lost end of one, may have assigned all numbers up to it, and no number may repeat.
enum QueueFloor {
  /// More numbers than any lane assigns between two losses.
  private static let step: UInt64 = 1 << 40
  /// The highest floor: a lane has numbers left above it.
  private static let last = Numbers.lastWrite - step
  /// How many steps a loss raises it by at most.
  private static let mostSteps: UInt64 = 64
  /// What counts where it cannot be read: more than four thousand losses raise it to.
  private static let unreadable: UInt64 = 1 << 58
  private static let key = SystemKey.queueFloor.bytes

  /// The number; 0 if nothing was ever lost.
  static func read(_ view: any OrderedView) throws(StoreError) -> UInt64 {
    guard let value = try view.value(Spaces.system, key) else { return 0 }
    guard let payload = Record.open(Spaces.system, key, value), payload.count == 8 else {
      throw Damage.error(Spaces.system, key)
    }
    return min(StoreKey.number(atEndOf: payload), last)
  }

  /// The number that no lane has assigned, whatever is left of the record: damage of it must not
  /// keep apps from queueing.
  static func safe(_ view: any OrderedView) throws(StoreError) -> UInt64 {
    try undamaged { () throws(StoreError) in try read(view) } ?? unreadable
  }

  /// The number above which a commit numbers its writes.
  static func forWrites(_ tx: LeafTransaction) throws(StoreError) -> UInt64 {
    let floor = try stored(tx)
    return raised(floor, steps: tx.effects.unreportedSteps)
  }

  private static func stored(_ tx: LeafTransaction) throws(StoreError) -> UInt64 {
    // From memory, since every write asks.
    guard tx.state.edits[Spaces.system] == nil else { return try safe(tx) }
    let known = try tx.base.object(Spaces.system, TreeID(rawValue: 0), key) {
      () throws(StoreError) in KnownFloor(try safe(tx.base))
    }
    guard let known = known as? KnownFloor else { return try safe(tx) }
    return known.number
  }

  private static func raised(_ floor: UInt64, steps: UInt64) -> UInt64 {
    min(floor + steps * step, last)
  }

  /// How far to raise it for a loss of commits, which may have raised it themselves: at random, so that
  /// two losses that begin at one floor do not continue at the same number.
  static func stepsAfterLoss() -> UInt64 { .random(in: 1...mostSteps) }

  /// Raises it to the floor of another store.
  static func raise(_ tx: LeafTransaction, to number: UInt64) throws(StoreError) {
    guard try safe(tx) < number else { return }
    try tx.put(
      Spaces.system, key, payload: StoreKey.number(min(number, last)))
  }

  /// A number above all that lanes may have assigned in a store with a floor, after some losses.
  static func above(_ floor: WriteID?, losses: Int = 1) -> WriteID {
    let steps = UInt64(clamping: losses).multipliedReportingOverflow(by: mostSteps * step)
    let rest = last - min(floor?.rawValue ?? 0, last)
    return WriteID(rawValue: last - rest + (steps.overflow ? rest : min(steps.partialValue, rest)))
  }

  /// Raises it, when some of the queue may have been lost.
  static func raise(_ tx: LeafTransaction, steps: UInt64 = 1) throws(StoreError) {
    try tx.put(Spaces.system, key, payload: StoreKey.number(raised(try safe(tx), steps: steps)))
  }
}

/// The floor as it is stored, kept in memory.
private final class KnownFloor: Sendable {
  let number: UInt64

  init(_ number: UInt64) { self.number = number }
}
