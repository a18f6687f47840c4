internal import ConiferKeyValue

/// A generator of numbers that a seed repeats exactly.
struct SeededRandom: RandomNumberGenerator {
  private var numbers: SplitMix64

  init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

  mutating func next() -> UInt64 { numbers.next() }

  /// One of some values.
  mutating func pick<T>(_ values: [T]) -> T {
    values[Int.random(in: 0..<values.count, using: &self)]
  }

  /// True in one of so many cases.
  mutating func one(in cases: Int) -> Bool { Int.random(in: 0..<cases, using: &self) == 0 }
}
