/// A check that found a store breaking its contract, in words.
public struct ConformanceFailure: Error, CustomStringConvertible {
  /// What was expected, what happened, and how to see it again.
  public let message: String

  /// A failure.
  ///
  /// - Parameter message: what was expected and what happened.
  public init(_ message: String) { self.message = message }

  /// The message.
  public var description: String { message }
}

/// Fails a check unless a condition holds.
func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
  if !condition { throw ConformanceFailure(message()) }
}
