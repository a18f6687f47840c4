internal import ConiferKeyValue

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A seeded generator, so that a failure can be played again.
package struct Seeded: RandomNumberGenerator {
  private var numbers: SplitMix64

  package init(_ seed: UInt64) { numbers = SplitMix64(seed: seed) }

  package mutating func next() -> UInt64 { numbers.next() }

  /// A number from 0 up to a bound, which is not among them.
  package mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  /// One of some values, of which there is at least one.
  package mutating func pick<T>(_ values: [T]) -> T { values[below(values.count)] }

  /// True in so many of a hundred cases.
  package mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  /// True in one of so many cases.
  package mutating func one(in cases: Int) -> Bool { below(cases) == 0 }

  /// The seeds of random programs: `CONIFER_SEED` alone, else as many as `CONIFER_PROGRAMS` says.
  package static func seeds(_ usual: Int) -> [UInt64] {
    func number(_ name: String) -> UInt64? {
      getenv(name).flatMap { UInt64(String(cString: $0)) }
    }
    if let seed = number("CONIFER_SEED") { return [seed] }
    return Array(1...max(1, number("CONIFER_PROGRAMS") ?? UInt64(usual)))
  }
}
