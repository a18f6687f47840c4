import ConiferDocumentSync
import ConiferWire

/// The reason why the server refused a write, as it is kept with the write: the name of the server's code, and its
/// words after a space.
struct RejectionReason {
  let error: StatusError

  init(_ error: StatusError) { self.error = error }

  /// Reads what was kept; other text is words of an unknown code.
  init(_ text: String) {
    let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
    let code = StatusCode.allCases.first { $0.name == parts.first }
    error = StatusError(
      code ?? .unknown, code == nil ? text : parts.count > 1 ? parts[1] : "The server refused it.")
  }

  /// The text that is kept.
  var text: String { "\(error.code.name) \(error.message)" }
}

extension StatusCode {
  fileprivate var name: String {
    FirestoreError.Code(rawValue: rawValue)?.name ?? "unknown"
  }
}
