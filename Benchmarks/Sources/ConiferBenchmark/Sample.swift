import Histogram

/// One measurement of one workload.
struct Sample: Sendable {
  /// Units of the workload in a second.
  let rate: Double
  /// How long each call took, in nanoseconds.
  let latencies: Histogram<UInt64>
}

/// Times calls one by one.
struct Stopwatch {
  private let clock = ContinuousClock()
  private(set) var latencies = Histogram<UInt64>(
    highestTrackableValue: 600_000_000_000, numberOfSignificantValueDigits: .three)
  private(set) var total = Duration.zero

  mutating func time<R>(_ body: () async throws -> R) async rethrows -> R {
    let start = clock.now
    let result = try await body()
    record(clock.now - start)
    return result
  }

  mutating func timeNow<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    let start = clock.now
    let result = try body()
    record(clock.now - start)
    return result
  }

  mutating func record(_ duration: Duration) {
    total += duration
    let (seconds, fraction) = duration.components
    latencies.record(UInt64(max(0, seconds * 1_000_000_000 + fraction / 1_000_000_000)))
  }

  /// The sample of so many units.
  ///
  /// - Parameter wall: how long it took, where calls overlapped.
  func sample(_ units: Int, wall: Duration? = nil) -> Sample {
    let (seconds, fraction) = (wall ?? total).components
    let time = Double(seconds) + Double(fraction) / 1e18
    return Sample(rate: Double(units) / max(time, 1e-9), latencies: latencies)
  }
}
