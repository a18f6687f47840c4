extension DocumentQuery {
  /// A query with the given target, as a server runs it: it asks for the first documents and states
  /// all orders.
  ///
  /// - Throws: `invalidQuery` when no query may have the target.
  package init(_ target: DocumentTarget, in database: DatabaseID) throws(DocumentError) {
    self.init(target.source, in: database)
    explicitOrders = target.orders
    if let filter = target.filter { filters = [try checked(filter)] }
    try checkFilters()
    try checkOrders()
    start = target.start
    end = target.end
    for cursor in [start, end] {
      guard let cursor, cursor.values.count > orders.count || cursor.values.isEmpty else {
        continue
      }
      throw DocumentError(
        .invalidQuery,
        "A start or an end has \(cursor.values.count) values, and the query \(orders.count) orders. "
          + "Give one value at least, and an order for each.")
    }
    if let limit = target.limit { self = try limited(to: limit) }
  }
}
