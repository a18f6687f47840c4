import ConiferSync
public import ConiferTree
public import ConiferWire

extension DatabaseError {
  /// The error for data, a key, a path or a query that was refused; it holds the same words.
  public init(_ error: TreeError) {
    let code: Code =
      switch error.code {
      case .invalidKey, .pathTooLong, .pathTooDeep: .invalidPath
      case .leafTooLarge, .invalidValue, .invalidServerValue: .invalidValue
      case .invalidPriority: .invalidPriority
      case .invalidMerge: .invalidUpdate
      case .invalidQuery: .invalidQuery
      default: .invalidValue
      }
    self.init(code, error.message, cause: error.code.rawValue)
  }

  /// The error for what a server answered; nil when it answered that it was done.
  ///
  /// - Parameters:
  ///   - response: the server's answer.
  ///   - what: what was not done, as the beginning of a sentence, such as `The write to /a failed`.
  public init?(_ response: Response, _ what: String = "The server refused") {
    if response.status == .ok { return nil }
    self.init(response.status, reason: response.reason, what)
  }

  /// The error for a status other than `ok`.
  ///
  /// - Parameters:
  ///   - status: the server's status.
  ///   - reason: the server's words, if it said any.
  ///   - what: what was not done, as the beginning of a sentence.
  public init(
    _ status: Response.Status, reason: String?, _ what: String = "The server refused"
  ) {
    let code: Code =
      switch status {
      case .permissionDenied: .permissionDenied
      case .unavailable: .unavailable
      case .expiredToken: .expiredToken
      case .invalidToken: .invalidToken
      case .tooBig: .tooLarge
      case .dataStale: .tooManyRetries
      default: .refused
      }
    self.init(code, "\(what): \(reason ?? status.rawValue).", cause: status.rawValue)
  }
}

extension DatabaseError {
  /// The error for what ended here, without the server's answer.
  ///
  /// - Parameter what: what was not done, as the beginning of a sentence.
  init(local status: LocalStatus, _ what: String) {
    switch status {
    case .disconnect:
      self.init(.outcomeUnknown, "\(what): the connection broke before the answer came.")
    case .writeCanceled: self.init(.writeCanceled, "\(what): the app purged what was waiting.")
    case .identityChanged:
      self.init(.writeCanceled, "\(what): another user was signed in before it was sent.")
    case .overriddenBySet:
      self.init(.overridden, "\(what): another write at the place ended it.")
    case .maxRetries:
      self.init(.tooManyRetries, "\(what): the data changed each time it was tried.")
    case .databaseClosed: self.init(.closed, "\(what): the database was closed before it was done.")
    }
  }
}
