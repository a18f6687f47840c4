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

extension FirestoreError {
  /// The error as one of Foundation.
  var bridged: NSError {
    NSError(domain: FirestoreErrorDomain, code: errorCode, userInfo: errorUserInfo)
  }

  /// The error of the client that an error of Foundation stands for; nil for another one.
  init?(_ error: NSError) {
    guard error.domain == FirestoreErrorDomain,
      let code = Code(rawValue: error.code)
    else { return nil }
    self.init(code, error.localizedDescription, cause: error.localizedFailureReason)
  }
}
