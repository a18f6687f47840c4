// What a server checks of a write that another program made.
extension Mutation {
  /// The write as the service takes it: timestamps are cut to microseconds.
  ///
  /// The size of the resulting document is not checked here, but by `Document.validateSize`.
  ///
  /// - Parameter database: the database that references must point into.
  /// - Throws: a `DocumentError` that names the field when the service refuses the write.
  package func checked(in database: DatabaseID) throws(DocumentError) -> Mutation {
    let check = ValueCheck(database: database)
    try path.validate()
    switch change {
    case .delete, .verify: return self
    case .set(let fields, let transforms):
      let fields = try check.checked(fields, at: [], depth: 0)
      let kept = try checked(transforms, check)
      return Mutation(path, .set(fields, kept), if: precondition)
    case .patch(let fields, let mask, let transforms):
      let fields = try check.checked(fields, at: [], depth: 0)
      for field in mask.paths { try checkPlace(field, check) }
      if let (outer, inner) = mask.overlap {
        throw DocumentError(
          .invalidWrite,
          "A write changes '\(outer)' and also '\(inner)' within it. Name one of them.")
      }
      let kept = try checked(transforms, check)
      return Mutation(path, .patch(fields, mask, kept), if: precondition)
    }
  }

  private func checked(
    _ transforms: [FieldTransform], _ check: ValueCheck
  ) throws(DocumentError) -> [FieldTransform] {
    guard transforms.count <= DocumentLimits.transforms else {
      throw DocumentError(
        .invalidWrite,
        "A write has \(transforms.count) transforms; \(DocumentLimits.transforms) are allowed. "
          + "Split it into several writes.")
    }
    var kept: [FieldTransform] = []
    for transform in transforms {
      let names = transform.field.names
      try checkPlace(transform.field, check)
      func elements(_ values: [DocumentValue]) throws(DocumentError) -> [DocumentValue] {
        try check.checked(.array(values), at: names, depth: names.count - 1).array ?? []
      }
      switch transform.operation {
      case .serverTimestamp, .increment, .minimum, .maximum: kept.append(transform)
      case .arrayUnion(let values):
        kept.append(FieldTransform(transform.field, .arrayUnion(try elements(values))))
      case .arrayRemove(let values):
        kept.append(FieldTransform(transform.field, .arrayRemove(try elements(values))))
      }
    }
    return kept
  }

  /// Checks the names on the way to a field, and how deep it is.
  private func checkPlace(_ field: FieldPath, _ check: ValueCheck) throws(DocumentError) {
    for count in 1...field.names.count {
      try check.checkName(Array(field.names.prefix(count)))
    }
    try check.checkDepth(field.names.count - 1, at: field.names)
  }
}
