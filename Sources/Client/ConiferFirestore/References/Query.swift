import ConiferDocument

/// A query of documents, with filters, an order, a range and a limit.
///
/// It may be used from any thread. An invalid query can be made too; calls that use it report the
/// error. Each method that narrows it returns another query.
public class Query: @unchecked Sendable {
  // Unchecked, as classes that are not final always are; all members are constant.
  /// The database that it belongs to.
  public final let firestore: Firestore
  /// What is asked for, or why it is invalid.
  final let documentQuery: Result<DocumentQuery, FirestoreError>

  init(_ firestore: Firestore, _ documentQuery: Result<DocumentQuery, FirestoreError>) {
    self.firestore = firestore
    self.documentQuery = documentQuery
  }

  /// The query after a change.
  final func derived(
    _ build: (DocumentQuery) throws(FirestoreError) -> DocumentQuery
  ) -> Query {
    Query(
      firestore,
      documentQuery.flatMap { query in Result { () throws(FirestoreError) in try build(query) } })
  }

  /// The query that a change of the model's makes.
  final func changed(
    _ build: (DocumentQuery) throws(DocumentError) -> DocumentQuery
  ) -> Query {
    derived { (query) throws(FirestoreError) in
      do throws(DocumentError) {
        return try build(query)
      } catch {
        throw FirestoreError(error)
      }
    }
  }

  /// What is asked for, checked as a whole.
  ///
  /// - Throws: `invalidArgument` for a query that is invalid.
  final func checked() throws(FirestoreError) -> DocumentQuery {
    let query = try documentQuery.get()
    do throws(DocumentError) {
      try query.validate()
    } catch {
      throw FirestoreError(error)
    }
    return query
  }
}

extension Query: Hashable, CustomStringConvertible {
  /// Whether both ask the same of the same database.
  public static func == (a: Query, b: Query) -> Bool {
    guard a.firestore === b.firestore else { return false }
    switch (a.documentQuery, b.documentQuery) {
    case (.success(let x), .success(let y)): return x == y
    case (.failure(let x), .failure(let y)): return x.message == y.message
    default: return false
    }
  }

  /// Feeds what `==` compares.
  public final func hash(into hasher: inout Hasher) {
    hasher.combine(firestore)
    if case .success(let query) = documentQuery { hasher.combine(query) }
  }

  /// What is asked for, as text.
  public final var description: String {
    switch documentQuery {
    case .success(let query): query.canonical
    case .failure(let error): error.description
    }
  }
}
