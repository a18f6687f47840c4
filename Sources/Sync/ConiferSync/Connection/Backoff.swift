import ConiferKeyValue

/// The delays between attempts to connect. The first attempt comes at once; each further delay is longer,
/// up to a longest one, and partly random.
struct Backoff: Sendable {
  private let limits: ConnectionLimits
  private var random: SplitMix64
  /// How many attempts failed in a row.
  private(set) var failures = 0

  init(_ limits: ConnectionLimits, seed: UInt64) {
    self.limits = limits
    self.random = SplitMix64(seed: seed)
  }

  mutating func reset() { failures = 0 }

  /// The delay before the next attempt, which is counted.
  mutating func next() -> Milliseconds {
    defer { failures += 1 }
    guard failures > 0 else { return 0 }
    return takeDelay(failures - 1)
  }

  /// A delay after a number of failures; seven tenths of it are random.
  mutating func takeDelay(_ failures: Int) -> Milliseconds {
    var delay = Double(limits.delays.first)
    let longest = Double(limits.delays.longest)
    for _ in 0..<Swift.min(failures, 1000) where delay < longest { delay *= limits.delays.factor }
    delay = Swift.min(delay, longest)
    return Milliseconds(0.3 * delay + 0.7 * delay * unit())
  }

  /// A number from 0 to 1.
  private mutating func unit() -> Double { Double(random.next() >> 11) / Double(1 << 53) }
}
