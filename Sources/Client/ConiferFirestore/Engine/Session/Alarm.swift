import ConiferEngine

/// Posts a step at the earliest time that a part of the engine waits for.
final class Alarm {
  private let clock: any EngineClock
  private let ring: @Sendable () -> Void
  /// The time of the alarm that is set; it cannot be taken back.
  private var set: Int64?

  init(_ clock: any EngineClock, _ ring: @escaping @Sendable () -> Void) {
    self.clock = clock
    self.ring = ring
  }

  /// Something waits for a time, or for none.
  func wake(at moment: Int64?) {
    guard let moment, set.map({ moment < $0 }) ?? true else { return }
    set = moment
    clock.wake(at: moment, ring)
  }

  /// An alarm rang, maybe an earlier one than the one that is set.
  func rang() { if let moment = set, moment <= clock.now { set = nil } }
}
