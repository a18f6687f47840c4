// The values that a query compares with, in filters and cursors. Their times are cut to the microsecond, as those of
// fields are.
extension DocumentQuery {
  /// The filter, with references as the values that `__name__` is compared with.
  func checked(_ filter: Filter) throws(DocumentError) -> Filter {
    switch filter {
    case .field(let filter): return .field(try checked(filter))
    case .and(let filters):
      return .and(try filters.map { filter throws(DocumentError) in try checked(filter) })
    case .or(let filters):
      return .or(try filters.map { filter throws(DocumentError) in try checked(filter) })
    }
  }

  private func checked(_ filter: FieldFilter) throws(DocumentError) -> FieldFilter {
    let name = filter.operator.rawValue
    try filter.field.checkExists("A filter")
    if filter.operator.takesList {
      guard let values = filter.value.array, !values.isEmpty else {
        throw DocumentError(
          .invalidQuery,
          "The filter '\(name)' on '\(filter.field)' needs an array of values that is not empty. "
            + "Give it one value at least.")
      }
      if filter.operator == .notIn, values.count > DocumentLimits.notInValues {
        throw DocumentError(
          .invalidQuery,
          "The filter 'not-in' on '\(filter.field)' has \(values.count) values; "
            + "\(DocumentLimits.notInValues) are allowed. Split the query.")
      }
    }
    guard filter.field.isDocumentID else {
      let what = "The filter on '\(filter.field)'"
      try checkNoPendingTimestamp(filter.value, what)
      // A list of values may list arrays.
      for value in filter.operator.takesList ? filter.list : [filter.value] {
        try checkNoNestedArray(value, what)
      }
      return FieldFilter(filter.field, filter.operator, filter.value.cut)
    }
    if filter.operator.searchesArray {
      throw DocumentError(
        .invalidQuery,
        "The filter '\(name)' cannot be used on '__name__', which is no array. "
          + "Use '==' or 'in'.")
    }
    guard filter.operator.takesList else {
      return FieldFilter(filter.field, filter.operator, try reference(filter.value))
    }
    let values = try filter.list.map { value throws(DocumentError) in try reference(value) }
    return FieldFilter(filter.field, filter.operator, .array(values))
  }

  /// Checks the values of a cursor: there must not be more than orders.
  func checked(
    cursor values: [DocumentValue], of orders: [Order]
  ) throws(DocumentError) -> [DocumentValue] {
    guard !values.isEmpty, values.count <= orders.count else {
      throw DocumentError(
        .invalidQuery,
        "A start or an end has \(values.count) values, and the query \(orders.count) "
          + "orders. Give one value at least, and an order for each.")
    }
    var checked: [DocumentValue] = []
    for (order, value) in zip(orders, values) {
      let what = "A start or an end at '\(order.field)'"
      try checkNoPendingTimestamp(value, what)
      try checkNoNestedArray(value, what)
      checked.append(order.field.isDocumentID ? try reference(value) : value.cut)
    }
    return checked
  }

  /// The position of a document in the query's order: its value for each order.
  func place(of document: Document) throws(DocumentError) -> [DocumentValue] {
    guard let fields = document.fields else {
      throw DocumentError(
        .invalidQuery,
        "The query cannot start or end at \(document.path), which was not found. "
          + "Use a document that exists.")
    }
    var values: [DocumentValue] = []
    for order in orders {
      if order.field.isDocumentID {
        values.append(.reference(DocumentName(document.path, in: database)))
        continue
      }
      guard let value = fields[order.field] else {
        throw DocumentError(
          .invalidQuery,
          "The query cannot start or end at \(document.path), which has no field "
            + "'\(order.field)'. Use a document that has all fields of the order.")
      }
      try checkNoPendingTimestamp(value, "The document \(document.path) at '\(order.field)'")
      values.append(value)
    }
    return values
  }

  /// Checks that a value is one that a field may have.
  private func checkNoNestedArray(_ value: DocumentValue, _ what: String) throws(DocumentError) {
    guard value.nestsArrays else { return }
    throw DocumentError(
      .invalidQuery,
      "\(what) has an array directly within an array, and no field has. Leave one of them out.")
  }

  /// Checks that a value contains no pending server timestamp.
  private func checkNoPendingTimestamp(_ value: DocumentValue, _ what: String) throws(DocumentError)
  {
    guard value != value.resolved(.none) else { return }
    throw DocumentError(
      .invalidQuery,
      "\(what) has a server timestamp that the server has yet to say. "
        + "Wait for the write, or use a time of your own.")
  }

  /// The reference that a value of `__name__` means: an id within the collection, in a group a whole
  /// path, or a reference.
  private func reference(_ value: DocumentValue) throws(DocumentError) -> DocumentValue {
    switch value {
    case .reference(let name) where name.database == database: return value
    case .string(let id):
      let path: DocumentPath?
      switch source {
      case .collection(let collection):
        path = id.utf8.contains(UInt8(ascii: "/")) ? nil : try? collection.document(id)
      case .document(let document):
        path =
          id.utf8.contains(UInt8(ascii: "/")) ? nil : try? document.collection.document(id)
      case .group: path = try? DocumentPath(id)
      }
      if let path { return .reference(DocumentName(path, in: database)) }
    default: break
    }
    throw DocumentError(
      .invalidQuery,
      "A value for '__name__' is not the id of a document. Give an id without a slash, in a group "
        + "of collections the whole path of a document, or a reference of this database.")
  }
}

extension FieldPath {
  /// Checks that documents may have the field; `__name__` stands for the document itself.
  ///
  /// - Parameter what: what names it.
  package func checkExists(_ what: String) throws(DocumentError) {
    guard !isDocumentID, names.contains(where: { DocumentLimits.isReserved($0) }) else { return }
    throw DocumentError(
      .invalidQuery,
      "\(what) names the field '\(self)', and no document has one: '__…__' is reserved. "
        + "Name another field.")
  }
}

extension DocumentValue {
  /// The value with its times cut to the microsecond.
  fileprivate var cut: DocumentValue {
    switch self {
    case .timestamp(let time): return .timestamp(time.truncated)
    case .array(let values): return .array(values.map(\.cut))
    case .map(let map): return .map(MapValue(map.fields.map { ($0.name, $0.value.cut) }))
    default: return self
    }
  }

  /// Whether an array is directly within another one.
  fileprivate var nestsArrays: Bool {
    switch self {
    case .array(let values): return values.contains { $0.array != nil || $0.nestsArrays }
    case .map(let map): return map.fields.contains { $0.value.nestsArrays }
    default: return false
    }
  }
}
