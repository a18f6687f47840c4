import ConiferEngine

/// Posts a step at the earliest time that a part of the engine waits for.
final class Alarm {
  private let clock: any EngineClock
  private let fire: @Sendable () -> Void
  /// The time of the alarm that is set; it cannot be taken back.
  private var set: Int64?

  init(_ clock: any EngineClock, _ fire: @escaping @Sendable () -> Void) {
    self.clock = clock
    self.fire = fire
  }

  /// Sets the alarm for a time; nil when nothing waits.
  func wake(at moment: Int64?) {
    guard let moment, set.map({ moment < $0 }) ?? true else { return }
    set = moment
    clock.wake(at: moment, fire)
  }

  /// An alarm went off, which may be an earlier one than the one that is set.
  func fired() { if let moment = set, moment <= clock.now { set = nil } }
}
