internal import ConiferKeyValue

/// The error of a check that found that a store breaks its contract.
public struct ConformanceFailure: Error, CustomStringConvertible {
  /// Which kind of promise broke.
  public let anomaly: Anomaly
  /// What was expected, what happened, and how to reproduce it.
  public let message: String
  /// The seed that reproduces it, where one was used; pass it as `CONIFER_SEED`.
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

  /// A failure without a more specific anomaly.
  ///
  /// - Parameter message: what was expected and what happened.
  public init(_ message: String) { self.init(.broken, message) }

  /// The anomaly and the message.
  public var description: String {
    anomaly == .broken ? message : "\(anomaly): \(message)"
  }
}

extension ConformanceFailure {
  /// The anomaly of an error, `broken` for an error of another type.
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
