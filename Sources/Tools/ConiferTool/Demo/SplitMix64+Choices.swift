import ConiferKeyValue

extension SplitMix64 {
  /// A number below a bound; the standard library's own way may change between versions.
  mutating func below(_ bound: Int) -> Int {
    bound > 0 ? Int(next() % UInt64(bound)) : 0
  }

  mutating func pick<T>(_ values: [T], or fallback: T) -> T {
    values.isEmpty ? fallback : values[below(values.count)]
  }
}
