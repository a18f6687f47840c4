// The writes of an app. Each is checked completely, so that only what the service accepts is
// queued.
extension Mutation {
  /// A write that replaces the document.
  ///
  /// - Parameters:
  ///   - path: the document.
  ///   - data: its fields.
  ///   - database: the database that references must point into.
  /// - Throws: a `DocumentError` that names the field when the service would refuse the write.
  public static func set(
    _ path: DocumentPath, _ data: [(String, WriteValue)], in database: DatabaseID
  ) throws(DocumentError) -> Mutation {
    var reader = WriteReader(ValueCheck(database: database), deletions: .forbidden)
    let fields = try reader.read(data, at: [], depth: 0)
    return try Mutation(path, .set(fields, reader.transforms)).validated(fields)
  }

  /// A write that replaces the fields that the data has and keeps the others; the document may be
  /// missing.
  ///
  /// - Parameters:
  ///   - path: the document.
  ///   - data: the fields. Maps are merged, too; arrays and empty maps are replaced whole.
  ///   - database: the database that references must point into.
  /// - Throws: a `DocumentError` that names the field when the service would refuse the write.
  public static func merge(
    _ path: DocumentPath, _ data: [(String, WriteValue)], in database: DatabaseID
  ) throws(DocumentError) -> Mutation {
    var reader = WriteReader(ValueCheck(database: database), deletions: .anywhere)
    let fields = try reader.read(data, at: [], depth: 0)
    return try Mutation(path, .patch(fields, FieldMask(reader.leaves), reader.transforms))
      .validated(fields)
  }

  /// A write that replaces the named fields and keeps the others; the document may be missing.
  ///
  /// - Parameters:
  ///   - path: the document.
  ///   - data: the fields; what is not named is left out.
  ///   - names: the fields to replace, each of which must be in the data; one within another is
  ///     replaced with that one.
  ///   - database: the database that references must point into.
  /// - Throws: `invalidWrite` when a name is not in the data; a `DocumentError` that names the field
  ///   when the service would refuse the write.
  public static func merge(
    _ path: DocumentPath, _ data: [(String, WriteValue)], fields names: [FieldPath],
    in database: DatabaseID
  ) throws(DocumentError) -> Mutation {
    var reader = WriteReader(ValueCheck(database: database), deletions: .anywhere)
    let fields = try reader.read(data, at: [], depth: 0)
    let given = FieldMask(reader.leaves + reader.transforms.map(\.field))
    for name in names where !given.reaches(into: name) {
      throw DocumentError(
        .invalidWrite,
        "The field '\(name)' is to be merged but is not in the data. Give it a value, or do not "
          + "name it.")
    }
    // A field within another one that is named comes with that one.
    let mask = FieldMask(names).outermost
    let transforms = reader.transforms.filter { mask.covers($0.field) }
    // The mask leaves out a field that is only transformed, because it would delete the field's
    // value.
    let transformed = Set(transforms.map(\.field))
    let masked = FieldMask(mask.paths.filter { !transformed.contains($0) })
    let kept = MapValue.empty.taking(masked, from: fields)
    return try Mutation(path, .patch(kept, masked, transforms)).validated(kept)
  }

  /// A write that replaces fields of a document that must exist and keeps the others.
  ///
  /// - Parameters:
  ///   - path: the document.
  ///   - data: field paths and the values to write there; a map replaces a stored map completely.
  ///   - database: the database that references must point into.
  ///   - precondition: what must hold for it to be applied: that the document exists, unless another is given.
  /// - Throws: `invalidWrite` when a field is written twice, or is within another one that is written;
  ///   a `DocumentError` that names the field when the service would refuse the write.
  public static func update(
    _ path: DocumentPath, _ data: [(FieldPath, WriteValue)], in database: DatabaseID,
    if precondition: Precondition = .exists(true)
  ) throws(DocumentError) -> Mutation {
    var reader = WriteReader(ValueCheck(database: database), deletions: .atTop)
    let named = FieldMask(data.map(\.0))
    if named.paths.count < data.count {
      throw DocumentError(.invalidWrite, "An update names a field twice. Name each field once.")
    }
    if let (outer, inner) = named.overlap {
      throw DocumentError(
        .invalidWrite,
        "An update writes '\(outer)' and also '\(inner)' within it. Write one of them.")
    }
    var values: [(field: FieldPath, value: DocumentValue)] = []
    var mask: [FieldPath] = []
    for (field, value) in data {
      for count in 1...field.names.count {
        try reader.check.checkName(Array(field.names.prefix(count)))
      }
      // The maps around the field count as levels.
      let depth = field.names.count - 1
      try reader.check.checkDepth(depth, at: field.names)
      let transforms = reader.transforms.count
      let value = try reader.read(value, at: field.names, depth: depth, isTop: true)
      if let value { values.append((field, value)) }
      // The mask leaves out a field that is only transformed, because it would delete the field's
      // value.
      if value != nil || reader.transforms.count == transforms { mask.append(field) }
    }
    // In their order each is added at the end of its map.
    let fields = values.sorted { $0.field < $1.field }
      .reduce(into: MapValue.empty) { $0.set($1.value, at: $1.field) }
    return try Mutation(path, .patch(fields, FieldMask(mask), reader.transforms), if: precondition)
      .validated(fields)
  }

  /// A write that deletes the document.
  ///
  /// - Throws: `invalidPath` when no document can be there.
  public static func delete(
    _ path: DocumentPath, if precondition: Precondition = .none
  ) throws(DocumentError) -> Mutation {
    try Mutation(path, .delete, if: precondition).validated(.empty)
  }

  /// A write that changes nothing and fails unless its precondition holds.
  ///
  /// - Throws: `invalidPath` when no document can be there.
  public static func verify(
    _ path: DocumentPath, if precondition: Precondition
  ) throws(DocumentError) -> Mutation {
    try Mutation(path, .verify, if: precondition).validated(.empty)
  }

  /// Checks path, size and number of transforms, and returns the write.
  ///
  /// What a document has at least after the write is measured: the data, and what the transforms make
  /// of nothing, such as the different elements of an array union.
  private func validated(_ fields: MapValue) throws(DocumentError) -> Mutation {
    try path.validate()
    let least = transformed(fields, transforms, from: nil, written: .zero)
    try Document(path, .found(least)).validateSize()
    guard transforms.count <= DocumentLimits.transforms else {
      throw DocumentError(
        .invalidWrite,
        "A write has \(transforms.count) transforms; \(DocumentLimits.transforms) are allowed. "
          + "Split it into several writes.")
    }
    return self
  }
}
