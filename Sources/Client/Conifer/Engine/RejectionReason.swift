import ConiferTree
import ConiferWire

/// The reason why a write waits for the app, as it is kept with the write.
enum RejectionReason {
  /// The server refused it.
  case refused(Response.Status, words: String?)
  /// It was sent and no answer came, and sending it again may apply it twice.
  case outcomeUnknown

  /// The word that is kept for a write of unknown outcome, in the place of a server's status.
  private static let unknown = "disconnect"

  init(_ response: Response) { self = .refused(response.status, words: response.reason) }

  /// Reads what was kept.
  init(_ text: String) {
    let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
    let status = parts.first ?? "failure"
    self =
      status == Self.unknown
      ? .outcomeUnknown
      : .refused(Response.Status(rawValue: status), words: parts.count > 1 ? parts[1] : nil)
  }

  /// The text that is kept: the status, and the server's words after a space.
  var text: String {
    switch self {
    case .refused(let status, let words):
      words.map { "\(status.rawValue) \($0)" } ?? status.rawValue
    case .outcomeUnknown: Self.unknown
    }
  }

  /// The error that the app is told for a write at a path.
  func error(_ path: Path) -> DatabaseError {
    switch self {
    case .refused(let status, let words):
      DatabaseError(status, reason: words, "The write to \(path) failed")
    case .outcomeUnknown:
      DatabaseError(
        .outcomeUnknown, "The write to \(path) was sent, and its answer never came.",
        remedy: "Read the place, then retry the write or discard it.")
    }
  }
}
