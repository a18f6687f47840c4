import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Which stored documents belong to a target, told from the bytes of the fields that it compares: what does not
/// belong to it is passed over without being decoded.
///
/// It is asked about documents of the target's source alone.
struct DocumentSieve {
  private let target: DocumentTarget
  private let fields: FieldSelection
  /// The path of every document where paths are not compared.
  private let anyPath: DocumentPath?

  init(_ target: DocumentTarget) {
    self.target = target
    let compared = target.comparedFields
    fields = FieldSelection(compared.filter { !$0.isDocumentID })
    anyPath =
      compared.contains(.documentID) ? nil : DocumentPath(collection: "collection", id: "id")
  }

  /// Whether a document belongs to the target; nil when the bytes hold none.
  ///
  /// - Parameter path: the document's.
  func passes(_ value: UnsafeRawBufferPointer, _ path: () -> DocumentPath?) -> Bool? {
    guard let path = anyPath ?? path(), let document = DocumentRecord.decode(path, value, fields)
    else { return nil }
    return target.matchesInSource(document)
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
