extension DocumentQuery {
  /// A query with the given target, as a server runs it: it asks for the first documents and states
  /// all orders. Times are cut to the microsecond, so its own target may be another one.
  ///
  /// - Throws: `invalidQuery` when no query may have the target, with the words that an app is told.
  package init(_ target: DocumentTarget, in database: DatabaseID) throws(DocumentError) {
    self.init(target.source, in: database)
    explicitOrders = target.orders
    if let filter = target.filter { filters = [try checked(filter)] }
    try checkFilters()
    try checkOrders()
    try checkCount(asked)
    start = try target.start.map { cursor throws(DocumentError) in try checked(cursor) }
    end = try target.end.map { cursor throws(DocumentError) in try checked(cursor) }
    if let limit = target.limit { self = try limited(to: limit) }
  }

  private func checked(_ cursor: Cursor) throws(DocumentError) -> Cursor {
    Cursor(values: try checked(cursor: cursor.values, of: orders), isInclusive: cursor.isInclusive)
  }

  /// How many of the orders an app must have asked for. The query has the others in any case: the fields of its
  /// inequalities and the document itself.
  private var asked: Int {
    var query = self
    let least = max(0, explicitOrders.count - DocumentLimits.inequalityFields - 1)
    for count in least..<explicitOrders.count {
      query.explicitOrders = Array(explicitOrders.prefix(count))
      if query.orders == orders { return count }
    }
    return explicitOrders.count
  }
}
