import CCounter
import Histogram

/// Times calls one by one, and counts requests to the system meanwhile.
struct Stopwatch {
  private let clock = ContinuousClock()
  private let before = counter_read()
  /// Requests to the system between calls, when those do not count.
  private var between = counter_totals()
  private var last: counter_totals?
  private var latencies = Histogram<UInt64>(
    highestTrackableValue: 600_000_000_000, numberOfSignificantValueDigits: .three)
  private(set) var total = Duration.zero
  private(set) var calls = 0

  /// Begins to time.
  ///
  /// - Parameter countsBetween: whether requests between calls count too, such as those of an
  ///   engine's own threads.
  init(countsBetween: Bool = true) {
    if !countsBetween { last = before }
  }

  @discardableResult
  mutating func time<R>(_ body: () async throws -> R) async rethrows -> R {
    leaveOut()
    let start = clock.now
    let result = try await body()
    record(clock.now - start)
    if last != nil { last = counter_read() }
    return result
  }

  @discardableResult
  mutating func timeNow<R>(_ body: () throws -> R) rethrows -> R {
    let start = clock.now
    let result = try body()
    record(clock.now - start)
    return result
  }

  /// Leaves out what was asked of the system since the last call.
  private mutating func leaveOut() {
    guard let last else { return }
    let now = counter_read()
    between.flushes += now.flushes - last.flushes
    between.bytes += now.bytes - last.bytes
  }

  mutating func record(_ duration: Duration) {
    total += duration
    calls += 1
    latencies.record(UInt64(max(0, duration.seconds * 1e9)))
  }

  /// How many units a second.
  ///
  /// - Parameter wall: how long it took, where calls overlapped.
  func rate(
    _ id: String, _ workload: Workload, _ title: String, _ units: Int, _ unit: String,
    wall: Duration? = nil
  ) -> Measurement {
    let value = Double(units) / max((wall ?? total).seconds, 1e-9)
    return filled(
      Measurement(
        id: id, title: title, workload: workload, value: value, unit: unit + "/s", isRate: true))
  }

  /// Milliseconds of the call in the middle, or of a percentile.
  func time(
    _ id: String, _ workload: Workload, _ title: String, percentile: Double = 50
  ) -> Measurement {
    filled(
      Measurement(
        id: id, title: title, workload: workload, value: microseconds(percentile) / 1000,
        unit: "ms", isRate: false))
  }

  private func filled(_ measurement: Measurement) -> Measurement {
    var result = measurement
    // Where only calls count, nothing counts after the last one.
    let now = last ?? counter_read()
    result.p50 = microseconds(50)
    result.p99 = microseconds(99)
    result.longest = microseconds(100)
    result.calls = calls
    if counter_is_available() {
      result.flushes = Int(now.flushes - before.flushes - between.flushes)
      result.written = Int(now.bytes - before.bytes - between.bytes)
    }
    return result
  }

  private func microseconds(_ percentile: Double) -> Double {
    Double(latencies.valueAtPercentile(percentile)) / 1000
  }
}

extension Duration {
  var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
