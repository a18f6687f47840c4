import ConiferDocument
import ConiferDocumentSync

/// What a listener is told, in a form that is compared and printed.
struct ScenarioEvent: Sendable, Hashable, CustomStringConvertible {
  /// The canonical text of the query.
  let query: String
  /// The code of the error that ends the listener, 0 for none.
  var error: Int
  var isFromCache: Bool
  var hasPendingWrites: Bool
  /// The documents that changed, each with how and with its version, in the order of these texts.
  var changes: [String]

  var description: String {
    guard error == 0 else { return "\(query) ended with \(error)" }
    let flags = (isFromCache ? " from cache" : "") + (hasPendingWrites ? " pending" : "")
    return "\(query)\(flags)\(changes.map { "\n      \($0)" }.joined())"
  }

  /// A snapshot.
  init(_ snapshot: ViewSnapshot) {
    query = snapshot.query.canonical
    error = 0
    isFromCache = snapshot.isFromCache
    hasPendingWrites = snapshot.hasPendingWrites
    changes = snapshot.changes.map { Self.text("\($0.kind)", $0.document) }.sorted()
  }

  /// An error.
  init(_ query: DocumentQuery, error: Int) {
    self.query = query.canonical
    self.error = error
    isFromCache = false
    hasPendingWrites = false
    changes = []
  }

  /// As a case has it.
  init(_ json: Any) throws {
    typealias R = ScenarioJSON
    let json = try R.object(
      json,
      of: [
        "query", "errorCode", "fromCache", "hasPendingWrites", "added", "metadata", "modified",
        "removed",
      ])
    query = try R.query(json["query"]).canonical
    error = try json["errorCode"].map { try R.number($0) } ?? 0
    isFromCache = try json["fromCache"].map { try R.flag($0) } ?? false
    hasPendingWrites = try json["hasPendingWrites"].map { try R.flag($0) } ?? false
    changes = try ["added", "metadata", "modified", "removed"].flatMap { kind in
      try R.list(json[kind] ?? []).map { Self.text(kind, try R.document($0)) }
    }.sorted()
  }

  private static func text(_ kind: String, _ document: Document) -> String {
    let content = document.fields.map { text(.map($0)) } ?? "\(document.state)"
    return
      "\(kind) \(document.path) v\(document.version.microseconds) \(document.writes) \(content)"
  }

  /// Integers and doubles are told apart.
  private static func text(_ value: DocumentValue) -> String {
    switch value {
    case .null: "null"
    case .boolean(let flag): "\(flag)"
    case .integer(let number): "\(number)"
    case .double(let number): "\(number)"
    case .string(let text): "\"\(text)\""
    case .array(let values): "[\(values.map(text).joined(separator: ", "))]"
    case .map(let map):
      "{\(map.fields.map { "\($0.name): \(text($0.value))" }.joined(separator: ", "))}"
    default: "\(value)"
    }
  }
}
