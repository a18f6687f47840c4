public import Foundation

extension DatabaseError: LocalizedError {
  /// The message, with the remedy.
  public var errorDescription: String? { remedy.map { "\(message) \($0)" } ?? message }
  /// The error underneath.
  public var failureReason: String? { cause }
  /// What to do about it.
  public var recoverySuggestion: String? { remedy }
}
