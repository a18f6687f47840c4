import ConiferDocument
import ConiferDocumentSync

/// What the tests of this module share.
enum Fixtures {
  static let database = DatabaseID(project: "p")

  static func path(_ text: String) -> DocumentPath {
    guard let path = try? DocumentPath(text) else { preconditionFailure("'\(text)' is no path") }
    return path
  }

  static func paths(_ texts: String...) -> Set<DocumentPath> { Set(texts.map(path)) }

  /// The same in order.
  static func list(_ texts: String...) -> [DocumentPath] { texts.map(path).sorted() }

  static func time(_ seconds: Int64) -> Timestamp { (try? Timestamp(seconds: seconds)) ?? .zero }

  /// A document `c/id` with a number in its field `n`.
  static func document(
    _ id: String, _ number: Int64 = 0, version: Int64 = 1, _ writes: Document.Writes = .synced
  ) -> Document {
    Document(
      path("c/\(id)"), .found(MapValue([("n", .integer(number))])),
      version: time(writes == .pending ? 0 : version), writes: writes)
  }

  static func missing(_ id: String, version: Int64 = 1) -> Document {
    Document(path("c/\(id)"), .missing, version: time(version))
  }

  /// The documents of `c`; by `n` where there is a limit.
  static func query(first: Int? = nil, last: Int? = nil) throws -> DocumentQuery {
    let all = DocumentQuery(.collection(try CollectionPath("c")), in: database)
    if let first { return try all.ordered(by: FieldPath(["n"])).limited(to: first) }
    if let last { return try all.ordered(by: FieldPath(["n"])).limited(toLast: last) }
    return all
  }
}

extension RemoteEvent {
  /// What it says of a document.
  func document(_ path: String) -> Document? {
    documents.first { $0.path == Fixtures.path(path) }
  }
}

extension QueryView {
  /// Takes documents and the server's word in.
  @discardableResult
  mutating func take(
    _ documents: Document..., target: TargetChange? = nil, isPendingReset: Bool = false
  ) -> Update {
    apply(changes(documents), target, isPendingReset: isPendingReset)
  }
}

extension ViewSnapshot {
  /// The ids of the documents, in order.
  var ids: [String] { documents.map(\.path.id) }
  /// The changes in short, such as `added a`.
  var told: [String] { changes.map { "\($0.kind) \($0.document.path.id)" } }
}
