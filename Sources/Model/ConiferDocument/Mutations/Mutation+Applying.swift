extension Mutation {
  /// The document as it is shown until the server has answered.
  ///
  /// - Parameters:
  ///   - document: the document before the write.
  ///   - written: when the write was made on this device.
  /// - Returns: the document with the write; the same one when the precondition does not hold.
  public func applied(to document: Document, written: Timestamp) -> Document {
    guard precondition.holds(for: document) else { return document }
    switch change {
    case .set(let fields, let transforms):
      return document.pending(
        .found(transformed(fields, transforms, from: document.fields, written: written)))
    case .patch(let fields, let mask, let transforms):
      let patched = (document.fields ?? .empty).taking(mask, from: fields)
      return document.pending(
        .found(transformed(patched, transforms, from: document.fields, written: written)))
    case .delete: return document.pending(.missing)
    case .verify: return document
    }
  }

  /// Applies the transforms to the fields, after the rest of the write, as the service does. The
  /// previous value of a pending server timestamp is the one before the write.
  func transformed(
    _ fields: MapValue, _ transforms: [FieldTransform], from before: MapValue?, written: Timestamp
  ) -> MapValue {
    transforms.reduce(into: fields) { fields, transform in
      let field = transform.field
      let value = transform.operation == .serverTimestamp ? before?[field] : fields[field]
      fields.set(transform.operation.applied(to: value, written: written), at: field)
    }
  }

  /// The document as it is once the server has accepted the write.
  ///
  /// - Parameters:
  ///   - document: the document as the server last sent it.
  ///   - updateTime: when the server says it changed the document; none of a deletion.
  ///   - commitTime: when the server says it accepted the write.
  ///   - results: the results of the transforms, in their order.
  /// - Returns: the document; `unknown` when it was changed although the precondition does not hold
  ///   for what is known of it.
  /// - Throws: `invalidAnswer` when there is not one result for each transform.
  public func acknowledged(
    on document: Document, updateTime: Timestamp?, commitTime: Timestamp,
    results: [DocumentValue] = []
  ) throws(DocumentError) -> Document {
    guard results.count == transforms.count else {
      throw DocumentError(
        .invalidAnswer,
        "The server sent \(results.count) results for \(transforms.count) transforms of \(path). "
          + "Listen to the document to have it as the server does.")
    }
    func committed(_ state: Document.State) -> Document {
      Document(
        document.path, state, version: updateTime ?? commitTime, readTime: commitTime,
        createTime: document.createTime(in: state), writes: .committed)
    }
    func answered(_ fields: MapValue) -> MapValue {
      zip(transforms, results).reduce(into: fields) { fields, answer in
        let (transform, result) = answer
        let value = transform.operation.acknowledged(on: fields[transform.field], result: result)
        fields.set(value, at: transform.field)
      }
    }
    switch change {
    case .set(let fields, _): return committed(.found(answered(fields)))
    case .patch(let fields, let mask, _):
      guard precondition.holds(for: document) else { return committed(.unknown) }
      return committed(.found(answered((document.fields ?? .empty).taking(mask, from: fields))))
    case .delete: return committed(.missing)
    case .verify: return document
    }
  }
}
