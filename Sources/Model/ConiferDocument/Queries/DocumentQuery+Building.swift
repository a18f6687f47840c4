extension DocumentQuery {
  /// The query with a further condition.
  ///
  /// - Parameter filter: a condition; one on `__name__` compares with a reference, or with an id (in a
  ///   group, with a whole path) as a string.
  /// - Throws: `invalidQuery` when no query may hold the condition, or not beside the others.
  public func filtered(_ filter: Filter) throws(DocumentError) -> DocumentQuery {
    var query = self
    query.filters.append(try checked(filter))
    try query.checkFilters()
    try query.checkCount(query.explicitOrders.count)
    for cursor in [start, end] {
      // A document's cursor has a value for each order, so the orders cannot change any more.
      if let cursor, cursor.values.count > explicitOrders.count, query.orders != orders {
        throw DocumentError(
          .invalidQuery,
          "The condition adds an order to a query that starts or ends at a document. "
            + "Add conditions first, then the document.")
      }
    }
    return query
  }

  /// The query with a further order.
  ///
  /// - Throws: `invalidQuery` when a start or an end was given before, or the query has an order by the field.
  public func ordered(
    by field: FieldPath, _ direction: Direction = .ascending
  ) throws(DocumentError) -> DocumentQuery {
    guard start == nil, end == nil else {
      throw DocumentError(
        .invalidQuery,
        "An order cannot follow a start or an end, whose values belong to orders. "
          + "Give all orders first.")
    }
    var query = self
    query.explicitOrders.append(Order(field, direction))
    try query.checkOrders()
    try query.checkCount(query.explicitOrders.count)
    return query
  }

  /// The query for the first documents only.
  ///
  /// - Throws: `invalidQuery` unless the number is one or more.
  public func limited(to count: Int) throws(DocumentError) -> DocumentQuery {
    try limited(count, .first)
  }

  /// The query for the last documents only; it needs an order, which `validate` asks for.
  ///
  /// - Throws: `invalidQuery` unless the number is one or more.
  public func limited(toLast count: Int) throws(DocumentError) -> DocumentQuery {
    try limited(count, .last)
  }

  private func limited(_ count: Int, _ side: Side) throws(DocumentError) -> DocumentQuery {
    guard count > 0 else {
      throw DocumentError(.invalidQuery, "The limit is \(count). Give a number of one or more.")
    }
    var query = self
    query.limit = Limit(count: count, side: side)
    return query
  }

  /// The query with a range that starts at values, inclusive.
  ///
  /// - Parameter values: a value for each of the first orders that were asked for.
  /// - Throws: `invalidQuery` when there are more values than orders, or none.
  public func starting(at values: [DocumentValue]) throws(DocumentError) -> DocumentQuery {
    try starting(Cursor(values: checked(cursor: values, of: explicitOrders), isInclusive: true))
  }

  /// The query with a range that starts after values.
  ///
  /// - Parameter values: a value for each of the first orders that were asked for.
  /// - Throws: `invalidQuery` when there are more values than orders, or none.
  public func starting(after values: [DocumentValue]) throws(DocumentError) -> DocumentQuery {
    try starting(Cursor(values: checked(cursor: values, of: explicitOrders), isInclusive: false))
  }

  /// The query with a range that ends at values, inclusive.
  ///
  /// - Parameter values: a value for each of the first orders that were asked for.
  /// - Throws: `invalidQuery` when there are more values than orders, or none.
  public func ending(at values: [DocumentValue]) throws(DocumentError) -> DocumentQuery {
    try ending(Cursor(values: checked(cursor: values, of: explicitOrders), isInclusive: true))
  }

  /// The query with a range that ends before values.
  ///
  /// - Parameter values: a value for each of the first orders that were asked for.
  /// - Throws: `invalidQuery` when there are more values than orders, or none.
  public func ending(before values: [DocumentValue]) throws(DocumentError) -> DocumentQuery {
    try ending(Cursor(values: checked(cursor: values, of: explicitOrders), isInclusive: false))
  }

  /// The query with a range that starts at a document, inclusive.
  ///
  /// - Throws: `invalidQuery` when the document lacks a field of an order, or does not exist.
  public func starting(at document: Document) throws(DocumentError) -> DocumentQuery {
    try starting(Cursor(values: place(of: document), isInclusive: true))
  }

  /// The query with a range that starts after a document.
  ///
  /// - Throws: `invalidQuery` when the document lacks a field of an order, or does not exist.
  public func starting(after document: Document) throws(DocumentError) -> DocumentQuery {
    try starting(Cursor(values: place(of: document), isInclusive: false))
  }

  /// The query with a range that ends at a document, inclusive.
  ///
  /// - Throws: `invalidQuery` when the document lacks a field of an order, or does not exist.
  public func ending(at document: Document) throws(DocumentError) -> DocumentQuery {
    try ending(Cursor(values: place(of: document), isInclusive: true))
  }

  /// The query with a range that ends before a document.
  ///
  /// - Throws: `invalidQuery` when the document lacks a field of an order, or does not exist.
  public func ending(before document: Document) throws(DocumentError) -> DocumentQuery {
    try ending(Cursor(values: place(of: document), isInclusive: false))
  }

  private func starting(_ cursor: Cursor) throws(DocumentError) -> DocumentQuery {
    var query = self
    query.start = cursor
    return query
  }

  private func ending(_ cursor: Cursor) throws(DocumentError) -> DocumentQuery {
    var query = self
    query.end = cursor
    return query
  }
}
