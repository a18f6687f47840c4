import ConiferSync
import ConiferWire

extension DatabaseError {
  /// The error for an answer that may have been made up here, as no server's came; nil for `ok`.
  init?(local response: Response, _ what: String) {
    switch response.status {
    case .disconnect:
      self.init(.outcomeUnknown, "\(what): the connection broke before the answer came.")
    case .writeCanceled: self.init(.writeCanceled, "\(what): the app purged what was waiting.")
    case .identityChanged:
      self.init(.writeCanceled, "\(what): another user was signed in before it was sent.")
    case .overriddenBySet:
      self.init(.overridden, "\(what): another write at the place ended it.")
    case .databaseClosed: self.init(.closed, "\(what): the database was closed before it was done.")
    case .maxRetries:
      self.init(.tooManyRetries, "\(what): the data changed each time it was tried.")
    default: self.init(response, what)
    }
  }
}

extension Response {
  /// Whether no server gave it.
  var isLocal: Bool { [.disconnect, .writeCanceled, .identityChanged].contains(status) }
}

extension Response.Status {
  /// The app closed the database.
  static let databaseClosed = Response.Status(rawValue: "closed")
}
