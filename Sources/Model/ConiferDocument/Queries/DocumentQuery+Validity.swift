// What a query may hold.
extension DocumentQuery {
  /// Checks what can only be checked once the query is complete.
  ///
  /// - Throws: `invalidQuery` when the last documents are asked for without an order.
  public func validate() throws(DocumentError) {
    if limit?.side == .last, explicitOrders.isEmpty {
      throw DocumentError(
        .invalidQuery,
        "A limit to the last documents needs an order. Order the query by a field.")
    }
  }

  /// Checks the filters against each other.
  func checkFilters() throws(DocumentError) {
    let filter = Filter.and(filters)
    let parts = filter.fieldFilters
    func count(_ operators: FieldFilter.Operator...) -> Int {
      parts.filter { operators.contains($0.operator) }.count
    }
    if count(.notEqual) > 1 {
      throw conflict("more than one '!=' filter", "Use 'not-in' on one field, or split the query.")
    }
    if count(.notIn) > 1 {
      throw conflict("more than one 'not-in' filter", "Put all values into one.")
    }
    if count(.notIn) > 0 {
      if count(.notEqual) > 0 {
        throw conflict("'not-in' beside '!='", "Put all values into 'not-in'.")
      }
      if count(.in, .arrayContainsAny) > 0 {
        throw conflict("'not-in' beside 'in' or 'array-contains-any'", "Split the query.")
      }
      if filter.normalized?.hasAlternatives == true {
        throw conflict("'not-in' beside 'or'", "Split the query.")
      }
    }
    let compared = FieldMask(parts.filter(\.operator.isInequality).map(\.field)).paths.count
    if compared > DocumentLimits.inequalityFields {
      throw conflict(
        "inequalities on \(compared) fields; \(DocumentLimits.inequalityFields) are allowed",
        "Compare fewer fields.")
    }
    guard let filter = filter.normalized else { return }
    let alternatives = filter.disjunctionCount
    if alternatives > DocumentLimits.disjunctions {
      throw conflict(
        "\(alternatives) alternatives once 'or', 'in' and 'array-contains-any' are written out; "
          + "\(DocumentLimits.disjunctions) are allowed", "Split the query.")
    }
    for alternative in filter.disjunctions
    where alternative.filter({ $0.operator == .arrayContains }).count > 1 {
      throw conflict(
        "more than one 'array-contains' or 'array-contains-any' that must be met at once",
        "Keep one of them, or join them with 'or'.")
    }
  }

  /// Checks the orders against each other.
  func checkOrders() throws(DocumentError) {
    for (place, order) in explicitOrders.enumerated() {
      try order.field.checkExists("An order")
      guard explicitOrders[..<place].contains(where: { $0.field == order.field }) else { continue }
      throw conflict("two orders by '\(order.field)'", "Order by each field once.")
    }
  }

  /// Checks the number of filters and orders; a collection below a document counts one.
  ///
  /// - Parameter orders: how many orders were asked for.
  func checkCount(_ orders: Int) throws(DocumentError) {
    var count = Filter.and(filters).fieldFilters.count + orders
    if case .collection(let collection) = source, collection.parent != nil { count += 1 }
    guard count <= DocumentLimits.queryParts else {
      throw conflict(
        "\(count) filters and orders; \(DocumentLimits.queryParts) are allowed", "Use fewer.")
    }
  }

  private func conflict(_ what: String, _ remedy: String) -> DocumentError {
    DocumentError(.invalidQuery, "A query has \(what). \(remedy)")
  }
}

extension Filter {
  /// Whether it contains an `or`.
  fileprivate var hasAlternatives: Bool {
    switch self {
    case .field: return false
    case .and(let filters): return filters.contains(where: \.hasAlternatives)
    case .or: return true
    }
  }
}
