import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// A test whether a stored document belongs to a target, from the bytes of the fields that the target compares:
/// documents that do not belong to it are passed over without being decoded.
///
/// It is asked about documents of the target's source alone.
struct DocumentSieve {
  private let target: DocumentTarget
  private let fields: FieldSelection
  /// The path of every document where paths are not compared.
  private let anyPath: DocumentPath?
  /// Conditions that every document that belongs to the target meets, by the names of their fields.
  private let conditions: [FieldCondition]

  init(_ target: DocumentTarget) {
    self.target = target
    let compared = target.comparedFields
    fields = FieldSelection(compared.filter { !$0.isDocumentID })
    anyPath =
      compared.contains(.documentID) ? nil : DocumentPath(collection: "collection", id: "id")
    conditions = FieldCondition.all(target.filter)
  }

  /// Whether a document belongs to the target; nil when the bytes hold none.
  ///
  /// - Parameter path: the document's.
  func passes(_ value: UnsafeRawBufferPointer, _ path: () -> DocumentPath?) -> Bool? {
    // Most documents fail a condition: this is cheaper than looking at all that is compared.
    if !conditions.isEmpty, DocumentRecord.fails(value, conditions) { return false }
    guard let path = anyPath ?? path(), let document = DocumentRecord.decode(path, value, fields)
    else { return nil }
    return target.matchesInSource(document)
  }
}

/// A condition on a field at the top of documents.
struct FieldCondition {
  let name: Bytes
  let filter: FieldFilter

  /// Those that a filter asks of each document, in the order of the names' UTF-8.
  static func all(_ filter: Filter?) -> [FieldCondition] {
    let filters: [FieldFilter] =
      switch filter {
      case nil, .or: []
      case .field(let filter): [filter]
      case .and(let filters):
        filters.compactMap { if case .field(let filter) = $0 { filter } else { nil } }
      }
    return filters.compactMap { filter in
      guard !filter.field.isDocumentID, filter.field.names.count == 1,
        let name = filter.field.names.first
      else { return nil }
      return FieldCondition(name: Bytes(name.utf8), filter: filter)
    }.sorted { bytesPrecede($0.name, $1.name) }
  }
}

/// Names of fields at the top of documents.
struct FieldSelection {
  /// The names, in the order of their UTF-8.
  let names: [(text: String, utf8: Bytes)]

  init(_ paths: some Sequence<FieldPath>) {
    names = Set(paths.compactMap { $0.names.first.map { Bytes($0.utf8) } })
      .sorted(by: bytesPrecede).map { (String(decoding: $0, as: UTF8.self), $0) }
  }
}
