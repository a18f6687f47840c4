import ConiferDocument
import ConiferStorage
import ConiferTree
import ConiferWire

/// What is stored of one document, for `explain`.
struct DocumentFacts {
  private let document: Document

  /// Reads what the server said of a document; nil for a place that is none.
  init?(_ opened: TreeStore, _ place: Path) throws {
    guard opened.order == .documents, let path = DocumentKey.document(place) else { return nil }
    document = try opened.backend.inspectDocuments { try $0.document(opened.tree, path) }
  }

  private var state: String {
    switch document.state {
    case .unseen: "nothing is stored"
    case .found: "exists"
    case .missing: "known to be missing"
    case .unknown: "exists, with fields that are not known"
    }
  }

  var lines: [String] {
    var table = Table()
    table.add("document", state)
    if let fields = document.fields {
      let size = Figures.bytes(document.path.size + fields.size)
      table.add("fields", "\(Figures.count(fields.count)), \(size) as the service counts")
    }
    for (name, time) in [("changed", document.version), ("told", document.readTime)]
    where time != .zero {
      table.add(name, time.rfc3339)
    }
    return table.lines
  }

  var report: Report {
    .object([
      ("state", .string("\(state)")), ("fields", .optional(document.fields?.count)),
      ("size", .optional(document.fields.map { document.path.size + $0.size })),
      ("changed", .string(document.version.rfc3339)), ("told", .string(document.readTime.rfc3339)),
    ])
  }
}
