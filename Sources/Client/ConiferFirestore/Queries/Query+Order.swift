import ConiferDocument

// Order, range and limit. An invalid one makes a query whose use reports the error.
extension Query {
  /// The documents that have a field, in its order; the least first.
  ///
  /// - Parameter field: such as `size` or `address.city`.
  public final func order(by field: String) -> Query { ordered(field, false) }

  /// The documents that have a field, in its order; the least first.
  ///
  /// - Parameter path: the field.
  public final func order(by path: FieldPath) -> Query { ordered(path, false) }

  /// The documents that have a field, in its order.
  ///
  /// - Parameters:
  ///   - field: such as `size` or `address.city`.
  ///   - descending: whether the greatest is first.
  public final func order(by field: String, descending: Bool) -> Query {
    ordered(field, descending)
  }

  /// The documents that have a field, in its order.
  ///
  /// - Parameters:
  ///   - path: the field.
  ///   - descending: whether the greatest is first.
  public final func order(by path: FieldPath, descending: Bool) -> Query {
    ordered(path, descending)
  }

  private final func ordered(_ field: Any, _ descending: Bool) -> Query {
    derived { (query) throws(FirestoreError) in
      let path = try FieldPath.checked(field)
      do throws(DocumentError) {
        return try query.ordered(by: path, descending ? .descending : .ascending)
      } catch {
        throw FirestoreError(error)
      }
    }
  }

  /// The first documents in the query's order.
  ///
  /// - Parameter limit: how many at most, one at least.
  public final func limit(to limit: Int) -> Query {
    changed { (query) throws(DocumentError) in try query.limited(to: limit) }
  }

  /// The last documents in the query's order, which must have one.
  ///
  /// - Parameter limit: how many at most, one at least.
  public final func limit(toLast limit: Int) -> Query {
    changed { (query) throws(DocumentError) in try query.limited(toLast: limit) }
  }
}

// Ends of a range: values for the first orders, or a document of a snapshot.
extension Query {
  /// The documents from values on, which belong to the range.
  ///
  /// - Parameter fieldValues: a value for each of the first orders.
  public final func start(at fieldValues: [Any]) -> Query {
    bounded(fieldValues) { (query, values) throws(DocumentError) in try query.starting(at: values) }
  }

  /// The documents behind values.
  ///
  /// - Parameter fieldValues: a value for each of the first orders.
  public final func start(after fieldValues: [Any]) -> Query {
    bounded(fieldValues) { (query, values) throws(DocumentError) in
      try query.starting(after: values)
    }
  }

  /// The documents up to values, which belong to the range.
  ///
  /// - Parameter fieldValues: a value for each of the first orders.
  public final func end(at fieldValues: [Any]) -> Query {
    bounded(fieldValues) { (query, values) throws(DocumentError) in try query.ending(at: values) }
  }

  /// The documents before values.
  ///
  /// - Parameter fieldValues: a value for each of the first orders.
  public final func end(before fieldValues: [Any]) -> Query {
    bounded(fieldValues) { (query, values) throws(DocumentError) in try query.ending(before: values)
    }
  }

  /// The documents from one on, which belongs to the range.
  ///
  /// - Parameter document: one that exists and has the fields of all orders.
  public final func start(atDocument document: DocumentSnapshot) -> Query {
    bounded(document) { (query, document) throws(DocumentError) in try query.starting(at: document)
    }
  }

  /// The documents behind one.
  ///
  /// - Parameter document: one that exists and has the fields of all orders.
  public final func start(afterDocument document: DocumentSnapshot) -> Query {
    bounded(document) { (query, document) throws(DocumentError) in
      try query.starting(after: document)
    }
  }

  /// The documents up to one, which belongs to the range.
  ///
  /// - Parameter document: one that exists and has the fields of all orders.
  public final func end(atDocument document: DocumentSnapshot) -> Query {
    bounded(document) { (query, document) throws(DocumentError) in try query.ending(at: document) }
  }

  /// The documents before one.
  ///
  /// - Parameter document: one that exists and has the fields of all orders.
  public final func end(beforeDocument document: DocumentSnapshot) -> Query {
    bounded(document) { (query, document) throws(DocumentError) in
      try query.ending(before: document)
    }
  }

  private final func bounded(
    _ fieldValues: [Any],
    _ build: (DocumentQuery, [DocumentValue]) throws(DocumentError) -> DocumentQuery
  ) -> Query {
    derived { (query) throws(FirestoreError) in
      var values: [DocumentValue] = []
      for value in fieldValues {
        values.append(try DataReader.value(value, of: "a start or an end"))
      }
      do throws(DocumentError) {
        return try build(query, values)
      } catch {
        throw FirestoreError(error)
      }
    }
  }

  private final func bounded(
    _ snapshot: DocumentSnapshot,
    _ build: (DocumentQuery, Document) throws(DocumentError) -> DocumentQuery
  ) -> Query {
    derived { (query) throws(FirestoreError) in
      guard snapshot.firestore === firestore else {
        throw FirestoreError(
          .invalidArgument,
          "\(snapshot.document.path) is in another database than the query. Use a document of the "
            + "same database.")
      }
      do throws(DocumentError) {
        return try build(query, snapshot.document)
      } catch {
        throw FirestoreError(error)
      }
    }
  }
}
