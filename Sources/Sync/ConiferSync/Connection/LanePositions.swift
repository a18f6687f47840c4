package import ConiferStorage

/// The lane in use, and the positions of what is issued in it.
struct LanePositions: Sendable {
  private enum Numbers: Sendable {
    /// The store is asked for them.
    case unknown
    /// The newest number given, and up to which one writes may have been sent, by this run or one
    /// before.
    case known(newest: UInt64, perhapsSent: UInt64)
  }

  /// The queue whose writes are sent.
  let lane: Lane
  private var numbers: Numbers
  /// How much was issued since the newest number was given.
  private var step: UInt64 = 0

  /// A lane whose newest number is known.
  init(_ lane: Lane, newest: WriteID?) {
    self.lane = lane
    let newest = newest?.rawValue ?? 0
    numbers = .known(newest: newest, perhapsSent: newest)
  }

  /// A lane whose newest number the store has yet to tell.
  init(opening lane: Lane) {
    self.lane = lane
    numbers = .unknown
  }

  /// Whether the newest number is known.
  var isOpen: Bool { if case .known = numbers { true } else { false } }

  /// The position of something that is issued now.
  mutating func next() -> LanePosition {
    step += 1
    return LanePosition(newest, step)
  }

  private var newest: UInt64 { if case .known(let newest, _) = numbers { newest } else { 0 } }

  /// Whether a write's number is higher than all that were given before.
  func isNew(_ id: WriteID) -> Bool { isOpen && id.rawValue > newest }

  /// Takes in a write's number, if it is new.
  mutating func add(_ id: WriteID) {
    guard isNew(id), case .known(_, let perhapsSent) = numbers else { return }
    numbers = .known(newest: id.rawValue, perhapsSent: perhapsSent)
    step = 0
  }

  /// A write is sent.
  mutating func sent(_ id: WriteID) {
    guard case .known(let newest, let perhapsSent) = numbers else { return }
    numbers = .known(newest: newest, perhapsSent: max(perhapsSent, id.rawValue))
  }

  /// The newest write, unless it may have been sent or something was issued after it.
  var lastUnsent: OutboundWriteID? {
    guard case .known(let newest, let perhapsSent) = numbers, step == 0, newest > perhapsSent else {
      return nil
    }
    return OutboundWriteID(lane, WriteID(rawValue: newest))
  }
}

/// The position of a write or an operation in the order of all that was issued in a lane.
///
/// A queued write has its number and step 0. What is not queued, such as a transaction, has the number of the last
/// queued write before it and a step from 1. It is no durable key: only queued writes keep theirs over a restart.
package struct LanePosition: Hashable, Comparable, Sendable {
  /// The number of the queued write: this one, or the last one before.
  package let number: UInt64
  /// Counts what is not queued behind that write; 0 for the write itself.
  package let step: UInt64

  /// The position of a queued write, or of what is not queued behind it.
  package init(_ number: UInt64, _ step: UInt64 = 0) {
    self.number = number
    self.step = step
  }

  /// The position of a queued write.
  package init(_ id: WriteID) { self.init(id.rawValue) }

  /// Whether it is that of a queued write.
  package var isQueued: Bool { step == 0 }

  /// Orders what was issued by when it was.
  package static func < (a: LanePosition, b: LanePosition) -> Bool {
    (a.number, a.step) < (b.number, b.step)
  }
}
