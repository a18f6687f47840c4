import ConiferDocument
import ConiferWire

extension Mutation {
  /// The document as the server has it after the write, and the results of the transforms.
  ///
  /// The precondition is not looked at. A write that changes nothing leaves the document's version as it is.
  func stored(on document: Document, at time: Timestamp) -> (Document, [DocumentValue]) {
    let base: MapValue
    switch change {
    case .verify: return (document, [])
    case .delete:
      return (document.fields == nil ? document : Document(path, .missing, version: time), [])
    case .set(let fields, _): base = fields
    case .patch(let fields, let mask, _):
      base = (document.fields ?? .empty).taking(mask, from: fields)
    }
    var results: [DocumentValue] = []
    let fields = transforms.reduce(into: base) { fields, transform in
      let (value, result) = transform.operation.stored(on: fields[transform.field], at: time)
      results.append(result)
      fields.set(value, at: transform.field)
    }
    if document.fields == fields { return (document, results) }
    let made = document.fields == nil ? time : document.creationTime
    return (Document(path, fields, made: made, changed: time), results)
  }

  /// Why the write does not take place on a document; nil when its precondition holds.
  func refusal(on document: Document) -> StatusError? {
    if precondition.holds(for: document) { return nil }
    switch precondition {
    case .none: return nil
    case .exists(true):
      return StatusError(.notFound, "There is no document \(path) to change. Set it first.")
    case .exists(false):
      return StatusError(.alreadyExists, "The document \(path) exists already. Update it instead.")
    case .updateTime:
      return StatusError(
        .failedPrecondition,
        "The document \(path) was changed since it was read. Read it again, and repeat the write.")
    }
  }
}

extension FieldTransform.Operation {
  /// The value that the server gives the field, and the result that it answers: of arrays null.
  fileprivate func stored(
    on value: DocumentValue?, at time: Timestamp
  ) -> (DocumentValue, result: DocumentValue) {
    switch self {
    case .serverTimestamp: return (.timestamp(time), .timestamp(time))
    case .increment, .minimum, .maximum:
      let value = applied(to: value, written: time)
      return (value, value)
    case .arrayUnion, .arrayRemove: return (applied(to: value, written: time), .null)
    }
  }
}
