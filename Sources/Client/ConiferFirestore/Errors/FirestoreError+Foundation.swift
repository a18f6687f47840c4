public import Foundation

/// The domain of the client's errors, as an `NSError` has it.
public let FirestoreErrorDomain = "FIRFirestoreErrorDomain"

extension FirestoreError: CustomNSError, LocalizedError {
  /// ``FirestoreErrorDomain``.
  public static var errorDomain: String { FirestoreErrorDomain }
  /// The code's number.
  public var errorCode: Int { code.rawValue }
  /// The message, and the error underneath.
  public var errorUserInfo: [String: Any] {
    var info: [String: Any] = [NSLocalizedDescriptionKey: message]
    if let cause { info[NSLocalizedFailureReasonErrorKey] = cause }
    return info
  }
  /// The message.
  public var errorDescription: String? { message }
  /// The error underneath.
  public var failureReason: String? { cause }
}
