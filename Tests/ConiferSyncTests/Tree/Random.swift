import Foundation

/// A seeded source of randomness (SplitMix64), so that a failure can be replayed.
struct Random: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  /// The seeds to run: `CONIFER_SEED` alone, else as many as `CONIFER_PROGRAMS` says.
  static func seeds(_ usual: Int) -> [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["CONIFER_SEED"].flatMap({ UInt64($0) }) { return [seed] }
    let count = environment["CONIFER_PROGRAMS"].flatMap { Int($0) } ?? usual
    return (0..<UInt64(max(1, count))).map { $0 + 1 }
  }
}
