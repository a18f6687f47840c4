import ConiferDocument

/// A change as the store keeps it: the document before, and when it was changed.
struct ChangeRecord {
  let number: Int64
  let time: Timestamp
  let before: Document

  init(_ change: DocumentChange) {
    number = change.number
    time = change.time
    before = change.before
  }

  /// The change that a document of the store holds; nil when it holds none.
  init?(_ document: Document) {
    guard let number = NumericID.number(of: document.path.id), let fields = document.fields,
      case .timestamp(let time) = fields["time"], case .string(let text) = fields["path"],
      let path = try? DocumentPath(text)
    else { return nil }
    self.number = number
    self.time = time
    if case .map(let before) = fields["before"], case .timestamp(let made) = fields["made"],
      case .timestamp(let changed) = fields["changed"]
    {
      self.before = Document(path, before, made: made, changed: changed)
    } else {
      before = Document(path, .missing)
    }
  }

  /// The change as a document of the store.
  func document(at path: DocumentPath) -> Document {
    var fields: MapValue = ["time": .timestamp(time), "path": .string("\(before.path)")]
    if let values = before.fields {
      fields["before"] = .map(values)
      fields["made"] = .timestamp(before.creationTime)
      fields["changed"] = .timestamp(before.version)
    }
    return Document(path, .found(fields))
  }
}
