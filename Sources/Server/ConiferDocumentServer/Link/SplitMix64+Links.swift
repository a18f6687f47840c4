import ConiferKeyValue

extension SplitMix64 {
  /// True with a probability.
  mutating func chance(_ probability: Double) -> Bool {
    probability > 0 && Double.random(in: 0..<1, using: &self) < probability
  }

  /// A time of a range.
  mutating func duration(in range: ClosedRange<Duration>) -> Duration {
    let span = range.upperBound - range.lowerBound
    return span > .zero
      ? range.lowerBound + span * Double.random(in: 0...1, using: &self) : range.lowerBound
  }
}
