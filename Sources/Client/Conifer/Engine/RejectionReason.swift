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
