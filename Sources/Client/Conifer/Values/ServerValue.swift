public import Foundation

/// Values that the server fills in when it receives a write; until then the client shows its guess.
public enum ServerValue {
  /// The server's time in milliseconds since 1970.
  public static func timestamp() -> [String: Any] { [".sv": "timestamp"] }

  /// The number that is there, plus another one; no other client's change is lost.
  ///
  /// - Parameter delta: what to add; it is the result where there is no number.
  public static func increment(_ delta: Int) -> [String: Any] { increment(delta as Any) }

  /// The number that is there, plus another one; no other client's change is lost.
  ///
  /// - Parameter delta: what to add, a finite number; it is the result where there is no number.
  public static func increment(_ delta: Double) -> [String: Any] { increment(delta as Any) }

  /// The number that is there, plus another one; no other client's change is lost.
  ///
  /// - Parameter delta: what to add, a finite number; it is the result where there is no number.
  public static func increment(_ delta: NSNumber) -> [String: Any] { increment(delta as Any) }

  private static func increment(_ delta: Any) -> [String: Any] {
    [".sv": ["increment": delta] as [String: Any]]
  }
}
