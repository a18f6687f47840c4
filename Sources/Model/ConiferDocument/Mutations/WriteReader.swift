/// Splits what an app writes into plain values, the fields that it touches, and transforms.
struct WriteReader {
  /// Where the sentinel that deletes a field may stand.
  enum Deletions {
    /// Nowhere: the write replaces the document.
    case forbidden
    /// Anywhere but within arrays: the write is merged.
    case anywhere
    /// Only as the whole value of an updated field, not within it.
    case atTop
  }

  let check: ValueCheck
  let deletions: Deletions
  /// The fields that the data has or deletes: values that are no maps, empty maps, deletions.
  private(set) var leaves: [FieldPath] = []
  private(set) var transforms: [FieldTransform] = []

  init(_ check: ValueCheck, deletions: Deletions) {
    self.check = check
    self.deletions = deletions
  }

  /// The data of a map.
  ///
  /// - Parameters:
  ///   - pairs: names and what is written to them; of a name that repeats the last one counts.
  ///   - field: the names on the way to the map.
  ///   - depth: how many maps are around its fields.
  mutating func read(
    _ pairs: [(String, WriteValue)], at field: [String], depth: Int
  ) throws(DocumentError) -> MapValue {
    try check.checkDepth(depth, at: field)
    if pairs.isEmpty, !field.isEmpty { leaves.append(FieldPath(unchecked: field)) }
    var fields: [MapValue.Field] = []
    for (name, value) in WriteReader.lastOfEachName(pairs) {
      let inner = field + [name]
      try check.checkName(inner)
      if let value = try read(value, at: inner, depth: depth, isTop: false) {
        fields.append(.init(name, value))
      }
    }
    return MapValue(fields)
  }

  /// The data of a field; none for a deletion and for a transform.
  ///
  /// - Parameter isTop: whether this is a value of an update itself.
  mutating func read(
    _ value: WriteValue, at field: [String], depth: Int, isTop: Bool
  ) throws(DocumentError) -> DocumentValue? {
    let path = FieldPath(unchecked: field)
    switch value {
    case .value(.map(let map)):
      // It is read like a map with instructions, so that its fields become leaves too.
      let pairs = map.fields.map { ($0.name, WriteValue.value($0.value)) }
      return .map(try read(pairs, at: field, depth: depth + 1))
    case .value(let value):
      leaves.append(path)
      return try check.checked(value, at: field, depth: depth)
    case .map(let pairs): return .map(try read(pairs, at: field, depth: depth + 1))
    case .array(let elements):
      leaves.append(path)
      let plain = DocumentValue.array(
        try elements.map { element throws(DocumentError) in
          try self.element(element, at: field, depth: depth + 1)
        })
      return try check.checked(plain, at: field, depth: depth)
    case .delete:
      guard deletions == .anywhere || deletions == .atTop && isTop else {
        throw DocumentError(
          .invalidWrite,
          "The field '\(path)' cannot be deleted here: a deletion may stand directly in an update "
            + "or anywhere in a merge. Use one of them, or leave the field out.")
      }
      leaves.append(path)
      return nil
    case .transform(let operation):
      transforms.append(FieldTransform(path, try checked(operation, at: field, depth: depth)))
      return nil
    }
  }

  /// A value within an array, where instructions are not allowed.
  private func element(
    _ value: WriteValue, at field: [String], depth: Int
  ) throws(DocumentError) -> DocumentValue {
    try check.checkDepth(depth, at: field)
    switch value {
    case .value(let value): return value
    case .array(let elements):
      return .array(
        try elements.map { element throws(DocumentError) in
          try self.element(element, at: field, depth: depth + 1)
        })
    case .map(let pairs):
      var fields: [MapValue.Field] = []
      for (name, value) in pairs {
        fields.append(.init(name, try element(value, at: field, depth: depth + 1)))
      }
      return .map(MapValue(fields))
    case .delete, .transform:
      throw DocumentError(
        .invalidWrite,
        "The array at '\(check.name(field))' holds a deletion, a server timestamp or another "
          + "transform. Write such a thing to a field that is within no array.")
    }
  }

  private func checked(
    _ operation: FieldTransform.Operation, at field: [String], depth: Int
  ) throws(DocumentError) -> FieldTransform.Operation {
    func elements(_ values: [DocumentValue]) throws(DocumentError) -> [DocumentValue] {
      try check.checked(.array(values), at: field, depth: depth).array ?? []
    }
    switch operation {
    case .serverTimestamp, .increment, .minimum, .maximum: return operation
    case .arrayUnion(let values): return .arrayUnion(try elements(values))
    case .arrayRemove(let values): return .arrayRemove(try elements(values))
    }
  }

  private static func lastOfEachName(_ pairs: [(String, WriteValue)]) -> [(String, WriteValue)] {
    let order = pairs.indices.sorted { a, b in
      let names = pairs[a].0.compareUTF8(pairs[b].0)
      return names == 0 ? a < b : names < 0
    }
    let repeated = zip(order, order.dropFirst())
      .filter { pairs[$0].0.hasSameBytes(as: pairs[$1].0) }.map(\.0)
    guard !repeated.isEmpty else { return pairs }
    let dropped = Set(repeated)
    return pairs.indices.filter { !dropped.contains($0) }.map { pairs[$0] }
  }
}
