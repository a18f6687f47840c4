/// When something that failed is tried again: after a second, then after growing delays, of a minute at most.
struct Retry {
  private(set) var moment: Int64?
  private var delay: Int64 = 1_000

  mutating func failed(at now: Int64) {
    moment = now + delay
    delay = min(delay * 3 / 2, 60_000)
  }

  /// Whether its time has come, once.
  mutating func isDue(at now: Int64) -> Bool {
    guard let moment, moment <= now else { return false }
    self.moment = nil
    return true
  }
}
