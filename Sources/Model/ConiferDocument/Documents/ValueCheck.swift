/// Checks values that an app writes, and cuts their timestamps to microseconds, as the service does.
struct ValueCheck {
  /// The database that references must point into.
  let database: DatabaseID

  /// The value as it is stored.
  ///
  /// - Parameters:
  ///   - value: what the app gave.
  ///   - field: the names of the enclosing fields and of this one, for messages and the length
  ///     limit.
  ///   - depth: the number of maps and arrays around the value.
  ///   - isElement: whether the value is directly within an array.
  func checked(
    _ value: DocumentValue, at field: [String], depth: Int = 0, isElement: Bool = false
  ) throws(DocumentError) -> DocumentValue {
    switch value {
    case .null, .boolean, .integer, .double, .geoPoint: return value
    case .timestamp(let timestamp): return .timestamp(timestamp.truncated)
    case .serverTimestamp:
      throw DocumentError(
        .invalidValue,
        "The field '\(name(field))' is a pending server timestamp, which only the client makes. "
          + "Write a server timestamp instead.")
    case .string(let text):
      try check(text.utf8.count, of: "string", at: field)
      return value
    case .bytes(let bytes):
      try check(bytes.count, of: "bytes", at: field)
      return value
    case .reference(let reference):
      try check(reference, at: field)
      return value
    case .array(let values):
      if isElement { throw nestedArray(field) }
      try checkDepth(depth + 1, at: field)
      var checked: [DocumentValue] = []
      checked.reserveCapacity(values.count)
      for value in values {
        checked.append(try self.checked(value, at: field, depth: depth + 1, isElement: true))
      }
      return .array(checked)
    case .vector(let numbers):
      guard numbers.count <= DocumentLimits.vectorCount else {
        throw DocumentError(
          .valueTooLarge,
          "The vector at '\(name(field))' has \(numbers.count) numbers; "
            + "\(DocumentLimits.vectorCount) are allowed. Shorten it.")
      }
      return value
    case .map(let map): return .map(try self.checked(map, at: field, depth: depth + 1))
    }
  }

  /// The map as it is stored.
  func checked(
    _ map: MapValue, at field: [String], depth: Int
  ) throws(DocumentError) -> MapValue {
    try checkDepth(depth, at: field)
    var fields: [MapValue.Field] = []
    fields.reserveCapacity(map.count)
    for entry in map.fields {
      let inner = field + [entry.name]
      try checkName(inner)
      fields.append(.init(entry.name, try checked(entry.value, at: inner, depth: depth)))
    }
    return MapValue(sorted: fields)
  }

  /// Checks the last name of a field, and the length of all.
  func checkName(_ field: [String]) throws(DocumentError) {
    guard let last = field.last, !last.isEmpty else {
      throw DocumentError(
        .invalidFieldPath,
        "A field within '\(name(field.dropLast()))' has an empty name. Give it a name.")
    }
    guard !DocumentLimits.isReserved(last) else {
      throw DocumentError(
        .invalidFieldPath,
        "'\(last)' cannot be the name of a field: '__…__' is reserved. Choose another one.")
    }
    let size = field.reduce(field.count - 1) { $0 + $1.utf8.count }
    guard size <= DocumentLimits.nameSize else {
      throw DocumentError(
        .invalidFieldPath,
        "The names on the way to a field have \(size) bytes; \(DocumentLimits.nameSize) are "
          + "allowed. Shorten them.")
    }
  }

  /// Checks how deep maps and arrays are nested.
  func checkDepth(_ depth: Int, at field: [String]) throws(DocumentError) {
    guard depth <= DocumentLimits.depth else {
      throw DocumentError(
        .tooDeep,
        "Maps and arrays at '\(name(field.prefix(3)))' are nested deeper than "
          + "\(DocumentLimits.depth) levels. Flatten them, or use documents below this one.")
    }
  }

  func nestedArray(_ field: [String]) -> DocumentError {
    DocumentError(
      .invalidValue,
      "The array at '\(name(field))' holds an array. Put a map between the two.")
  }

  func name(_ field: some Sequence<String>) -> String { field.joined(separator: ".") }

  private func check(_ size: Int, of kind: String, at field: [String]) throws(DocumentError) {
    guard size <= DocumentLimits.valueSize else {
      throw DocumentError(
        .valueTooLarge,
        "The \(kind) at '\(name(field))' has \(size) bytes; \(DocumentLimits.valueSize) are "
          + "allowed. Split it, or store it elsewhere.")
    }
  }

  private func check(_ reference: DocumentName, at field: [String]) throws(DocumentError) {
    guard reference.database == database else {
      throw DocumentError(
        .invalidValue,
        "The reference at '\(name(field))' is to \(reference.database), but this is \(database). "
          + "Refer to a document of the same database.")
    }
  }
}
