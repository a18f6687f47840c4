import ConiferStorage

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
  mutating func next() -> OverlayID {
    step += 1
    return OverlayID(newest, step)
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
