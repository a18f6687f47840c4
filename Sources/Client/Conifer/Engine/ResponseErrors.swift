import ConiferSync
import ConiferTree
import ConiferWire

/// Why a server refused a write, as it is kept with the write.
struct RejectionReason {
  let status: Response.Status
  let reason: String?

  init(_ response: Response) {
    status = response.status
    reason = response.reason
  }

  /// Reads what was kept.
  init(_ text: String) {
    let parts = text.split(separator: " ", maxSplits: 1)
    status = Response.Status(rawValue: parts.first.map(String.init) ?? "failure")
    reason = parts.count > 1 ? String(parts[1]) : nil
  }

  /// The status, and the server's words behind a space.
  var text: String { reason.map { "\(status.rawValue) \($0)" } ?? status.rawValue }

  func error(_ path: Path) -> DatabaseError {
    guard status != .disconnect else {
      return DatabaseError(
        .outcomeUnknown, "The write to \(path) was sent, and its answer never came.",
        remedy: "Read the place, then retry the write or discard it.")
    }
    return DatabaseError(status, reason: reason, "The write to \(path) failed")
  }
}

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
