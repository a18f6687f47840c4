package import ConiferDocument

/// A query without its parent, as the service has it: parts that come in any order.
package struct StructuredQuery: Sendable {
  /// An end of a range: a value for each of the first orders.
  package struct Cursor: Sendable {
    package var values: [DocumentValue]
    /// Whether it is just before what has these values, rather than just after.
    package var isBefore: Bool

    package init(_ values: [DocumentValue] = [], isBefore: Bool = false) {
      self.values = values
      self.isBefore = isBefore
    }
  }

  /// The ids of the collections that are asked.
  package var collections: [String] = []
  /// Whether all collections with the id are asked, rather than the one below the parent.
  package var isGroup = false
  package var filter: Filter?
  package var orders: [DocumentQuery.Order] = []
  package var start: Cursor?
  package var end: Cursor?
  /// How many documents are asked for; nil for all.
  package var limit: Int?
  /// How many of the first documents are left out.
  package var offset = 0
  /// The fields that are asked for; none for all.
  package var fields: [FieldPath] = []

  package init() {}

  /// The conditions one by one, where all of some fields must be met.
  private var conditions: [Filter] {
    guard case .and(let filters)? = filter,
      filters.allSatisfy({ if case .field = $0 { true } else { false } })
    else { return filter.map { [$0] } ?? [] }
    return filters
  }

  func query(_ parent: String, isLast: Bool) throws(DocumentError) -> DocumentQuery {
    let (database, document) = try Self.parent(parent)
    return try query(below: document, in: database, isLast: isLast)
  }

  /// The query with its parent.
  ///
  /// - Parameters:
  ///   - document: the document that its collection is below; nil for one at the root.
  ///   - database: the database.
  ///   - isLast: whether the limit keeps the last documents.
  /// - Throws: `invalidQuery` for a query that no client could make.
  package func query(
    below document: DocumentPath?, in database: DatabaseID, isLast: Bool = false
  ) throws(DocumentError) -> DocumentQuery {
    guard collections.count == 1, let id = collections.first else {
      throw DocumentError(
        .invalidQuery, "A query is from one collection, not \(collections.count).")
    }
    guard !id.isEmpty, !id.utf8.contains(UInt8(ascii: "/")) else {
      throw DocumentError(
        .invalidQuery, "'\(id)' is no id of a collection: give one name without slashes.")
    }
    var query: DocumentQuery
    if isGroup {
      guard document == nil else {
        throw DocumentError(.invalidQuery, "A query of a group has no document as its parent.")
      }
      query = DocumentQuery(.group(id), in: database)
    } else {
      let collection =
        if let document { try document.collection(id) } else { try CollectionPath(id) }
      query = DocumentQuery(.collection(collection), in: database)
    }
    for filter in conditions { query = try query.filtered(filter) }
    for order in orders { query = try query.ordered(by: order.field, order.direction) }
    if let start {
      query =
        try start.isBefore
        ? query.starting(at: start.values) : query.starting(after: start.values)
    }
    if let end {
      query = try end.isBefore ? query.ending(before: end.values) : query.ending(at: end.values)
    }
    if let limit { query = try isLast ? query.limited(toLast: limit) : query.limited(to: limit) }
    try query.validate()
    return query
  }

  /// The database and the document of a parent: `projects/P/databases/D/documents`, or a document's name.
  private static func parent(
    _ text: String
  ) throws(DocumentError) -> (DatabaseID, DocumentPath?) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    if parts.count == 5, parts[4] == "documents",
      let database = DatabaseID(tree: parts[..<4].joined(separator: "/"))
    {
      return (database, nil)
    }
    let name = try DocumentName(text)
    return (name.database, name.path)
  }
}
