public import Foundation

// As an `NSError`, an error has the domain and the code that the Apple SDK gives it.
extension DatabaseError: CustomNSError, LocalizedError {
  /// The domain of the Apple SDK's database errors.
  public static var errorDomain: String { "com.firebase" }
  /// The key under which the user info has the name of the `code`, which is finer than the number.
  public static let codeKey = "conifer.code"

  /// The Apple SDK's number for the code: 1 for a refusal by the rules, 2 for a server that cannot answer, 3 for a write
  /// that was given up here, 9999 for all else.
  public var errorCode: Int {
    switch code {
    case .permissionDenied: 1
    case .unavailable, .disconnected: 2
    case .writeCanceled, .discarded: 3
    default: 9999
    }
  }

  /// The message with the remedy, the remedy alone, the error underneath, and the code's name.
  public var errorUserInfo: [String: Any] {
    var info: [String: Any] = [Self.codeKey: code.rawValue]
    info[NSLocalizedDescriptionKey] = errorDescription
    info[NSLocalizedRecoverySuggestionErrorKey] = remedy
    info[NSLocalizedFailureReasonErrorKey] = cause
    return info
  }

  /// The message, with the remedy.
  public var errorDescription: String? { remedy.map { "\(message) \($0)" } ?? message }
  /// The error underneath.
  public var failureReason: String? { cause }
  /// What to do about it.
  public var recoverySuggestion: String? { remedy }
}
