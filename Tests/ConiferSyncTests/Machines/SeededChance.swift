import Foundation

/// Chance that a seed repeats exactly (SplitMix64).
struct SeededChance: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// True in one of so many cases.
  mutating func one(in cases: Int) -> Bool { Int.random(in: 0..<cases, using: &self) == 0 }

  /// A number below another one.
  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  /// The seeds of random programs: `CONIFER_SEED` repeats one, `CONIFER_PROGRAMS` says how many run.
  static func seeds(_ count: Int) -> [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["CONIFER_SEED"].flatMap({ UInt64($0) }) { return [seed] }
    let count = environment["CONIFER_PROGRAMS"].flatMap { Int($0) } ?? count
    return (0..<UInt64(max(1, count))).map { $0 + 1 }
  }
}
