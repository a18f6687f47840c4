internal import ConiferKeyValue

/// A check that found a store breaking its contract, in words.
public struct ConformanceFailure: Error, CustomStringConvertible {
  /// Which kind of promise broke.
  public let anomaly: Anomaly
  /// What was expected, what happened, and how to see it again.
  public let message: String
  /// The seed that repeats it, where one was used; `CONIFER_SEED` takes it.
  public let seed: UInt64?

  /// A failure.
  ///
  /// - Parameters:
  ///   - anomaly: which kind of promise broke.
  ///   - message: what was expected and what happened.
  ///   - seed: what repeats it.
  public init(_ anomaly: Anomaly, _ message: String, seed: UInt64? = nil) {
    self.anomaly = anomaly
    self.message = message
    self.seed = seed
  }

  /// A failure that none of the anomalies' names fits better.
  ///
  /// - Parameter message: what was expected and what happened.
  public init(_ message: String) { self.init(.broken, message) }

  /// The anomaly and the message.
  public var description: String {
    anomaly == .broken ? message : "\(anomaly): \(message)"
  }
}

extension ConformanceFailure {
  /// The anomaly that an error names; none of them for an error of another kind.
  static func anomaly(of error: any Error) -> Anomaly {
    (error as? ConformanceFailure)?.anomaly ?? (error is StoreError ? .refused : .broken)
  }
}

/// Fails a check unless a condition holds.
func require(
  _ condition: Bool, _ anomaly: Anomaly, _ message: @autoclosure () -> String
) throws {
  if !condition { throw ConformanceFailure(anomaly, message()) }
}

/// Fails a check unless a condition holds.
func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
  try require(condition, .broken, message())
}
