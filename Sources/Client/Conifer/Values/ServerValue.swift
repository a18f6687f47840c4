public import Foundation

/// Placeholders that the server resolves when it receives a write, such as a timestamp or an
/// increment; until then the client shows an estimate.
public enum ServerValue {
  /// The server's time in milliseconds since 1970.
  public static func timestamp() -> [String: any Sendable] { [".sv": "timestamp"] }

  /// The number that is there, plus another one; no other client's change is lost.
  ///
  /// - Parameter delta: what to add; it is the result where there is no number.
  public static func increment(_ delta: Int) -> [String: any Sendable] { increment(of: delta) }

  /// The number that is there, plus another one; no other client's change is lost.
  ///
  /// - Parameter delta: what to add, a finite number; it is the result where there is no number.
  public static func increment(_ delta: Double) -> [String: any Sendable] { increment(of: delta) }

  /// The number that is there, plus another one; no other client's change is lost.
  ///
  /// - Parameter delta: what to add, a finite number; it is the result where there is no number.
  public static func increment(_ delta: NSNumber) -> [String: any Sendable] { increment(of: delta) }

  private static func increment(of delta: any Sendable) -> [String: any Sendable] {
    [".sv": ["increment": delta] as [String: any Sendable]]
  }
}
