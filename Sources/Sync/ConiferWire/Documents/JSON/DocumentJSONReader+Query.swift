package import ConiferDocument
package import ConiferTree

// Queries in the form of Firestore's REST API, as bundles have them.
extension DocumentJSONReader {
  /// A query with its parent: `parent`, `structuredQuery` and `limitType`, in any order; or a `document` alone.
  ///
  /// - Throws: also for a query that no client could make, or of another form than these.
  package mutating func bundledQuery() throws(JSONError) -> DocumentQuery {
    var (parent, document): (String?, DocumentName?)
    var parts: QueryParts?
    var isLast = false
    try members("A bundled query") { (reader, key) throws(JSONError) in
      switch key {
      case "parent": parent = try reader.text(key)
      case "structuredQuery": parts = try reader.queryParts()
      case "limitType": isLast = try reader.text(key) == "LAST"
      case "document":
        let text = try reader.text(key)
        document = try reader.checked { () throws(DocumentError) in try DocumentName(text) }
      default: _ = try reader.plain(try reader.next())
      }
    }
    if let document {
      return DocumentQuery(.document(document.path), in: document.database)
    }
    guard let parent, let parts else {
      throw refused("A bundled query has a parent and a structuredQuery.")
    }
    return try checked { () throws(DocumentError) in try parts.query(parent, isLast: isLast) }
  }

  private mutating func queryParts() throws(JSONError) -> QueryParts {
    var parts = QueryParts()
    try members("A structured query") { (reader, key) throws(JSONError) in
      switch key {
      case "from":
        try reader.elements(key) { (reader) throws(JSONError) in
          try reader.rest { (reader, key) throws(JSONError) in
            switch key {
            case "collectionId": parts.collections.append(try reader.text(key))
            case "allDescendants": parts.isGroup = try reader.next() == .bool(true)
            default: _ = try reader.plain(try reader.next())
            }
          }
        }
      case "where": parts.filter = try reader.filter()
      case "orderBy":
        try reader.elements(key) { (reader) throws(JSONError) in
          parts.orders.append(try reader.order())
        }
      case "startAt": parts.start = try reader.cursor()
      case "endAt": parts.end = try reader.cursor()
      case "limit": parts.limit = try reader.limit()
      default: _ = try reader.plain(try reader.next())
      }
    }
    return parts
  }

  /// Gives each object of an array, which was begun.
  private mutating func elements(
    _ key: String, _ body: (inout DocumentJSONReader) throws(JSONError) -> Void
  ) throws(JSONError) {
    guard try next() == .beginArray else { throw refused("What stands behind \(key) is an array.") }
    while true {
      let event = try next()
      if event == .endArray { return }
      guard event == .beginObject else { throw refused("An element of \(key) is an object.") }
      try body(&self)
    }
  }

  private mutating func limit() throws(JSONError) -> Int {
    switch try next() {
    case .integer(let number): return Int(clamping: number)
    case .beginObject:
      var limit: Int?
      try rest { (reader, key) throws(JSONError) in
        if key == "value" {
          limit = Int(clamping: try reader.integer())
        } else {
          _ = try reader.plain(try reader.next())
        }
      }
      if let limit { return limit }
    default: break
    }
    throw refused("A limit is a number.")
  }

  /// The field that an object names.
  private mutating func field() throws(JSONError) -> FieldPath {
    var path: FieldPath?
    try members("A field") { (reader, key) throws(JSONError) in
      let text = try reader.text(key)
      path = try reader.checked { () throws(DocumentError) in try FieldPath(canonical: text) }
    }
    guard let path else { throw refused("A field has a fieldPath.") }
    return path
  }

  private mutating func order() throws(JSONError) -> DocumentQuery.Order {
    var path: FieldPath?
    var direction = Direction.ascending
    try rest { (reader, key) throws(JSONError) in
      switch key {
      case "field": path = try reader.field()
      case "direction": if try reader.text(key) == "DESCENDING" { direction = .descending }
      default: _ = try reader.plain(try reader.next())
      }
    }
    guard let path else { throw refused("An order has a field.") }
    return DocumentQuery.Order(path, direction)
  }

  private mutating func cursor() throws(JSONError) -> QueryParts.Cursor {
    var cursor = QueryParts.Cursor()
    try members("A cursor") { (reader, key) throws(JSONError) in
      switch key {
      case "values": cursor.values = try reader.values(key)
      case "before": cursor.isBefore = try reader.next() == .bool(true)
      default: _ = try reader.plain(try reader.next())
      }
    }
    return cursor
  }

  private mutating func values(_ key: String) throws(JSONError) -> [DocumentValue] {
    var values: [DocumentValue] = []
    try elements(key) { (reader) throws(JSONError) in
      values.append(try reader.typedRest())
    }
    return values
  }

  private mutating func filter() throws(JSONError) -> Filter {
    var filter: Filter?
    try members("A filter") { (reader, key) throws(JSONError) in
      filter = try reader.filter(key)
    }
    guard let filter else { throw refused("A filter is composite, of a field, or unary.") }
    return filter
  }

  private mutating func filter(_ kind: String) throws(JSONError) -> Filter {
    var (op, path): (String?, FieldPath?)
    var value: DocumentValue?
    var filters: [Filter] = []
    try members("A filter") { (reader, key) throws(JSONError) in
      switch key {
      case "op": op = try reader.text(key)
      case "field": path = try reader.field()
      case "value": value = try reader.typed()
      case "filters":
        try reader.elements(key) { (reader) throws(JSONError) in
          try reader.rest { (reader, key) throws(JSONError) in
            filters.append(try reader.filter(key))
          }
        }
      default: _ = try reader.plain(try reader.next())
      }
    }
    switch (kind, op) {
    case ("compositeFilter", "AND"): return .and(filters)
    case ("compositeFilter", "OR"): return .or(filters)
    case ("fieldFilter", let op?):
      if let path, let value, let known = QueryWords.operators[op] {
        return .field(path, known, value)
      }
    case ("unaryFilter", let op?):
      if let path, let (known, value) = QueryWords.unary[op] { return .field(path, known, value) }
    default: break
    }
    throw refused("Nobody knows the filter \(kind) with \(op ?? "no op").")
  }
}

/// What the parts of queries are called.
enum QueryWords {
  static let operators: [String: FieldFilter.Operator] = [
    "EQUAL": .equal, "NOT_EQUAL": .notEqual, "LESS_THAN": .lessThan,
    "LESS_THAN_OR_EQUAL": .lessThanOrEqual, "GREATER_THAN": .greaterThan,
    "GREATER_THAN_OR_EQUAL": .greaterThanOrEqual, "IN": .in, "NOT_IN": .notIn,
    "ARRAY_CONTAINS": .arrayContains, "ARRAY_CONTAINS_ANY": .arrayContainsAny,
  ]
  static let unary: [String: (FieldFilter.Operator, DocumentValue)] = [
    "IS_NULL": (.equal, .null), "IS_NOT_NULL": (.notEqual, .null),
    "IS_NAN": (.equal, .double(.nan)), "IS_NOT_NAN": (.notEqual, .double(.nan)),
  ]
}

/// The parts of a query, which come in any order.
private struct QueryParts {
  struct Cursor {
    var values: [DocumentValue] = []
    var isBefore = false
  }

  var collections: [String] = []
  var isGroup = false
  var filter: Filter?
  var orders: [DocumentQuery.Order] = []
  var start: Cursor?
  var end: Cursor?
  var limit: Int?

  /// The conditions one by one, where all of some fields must be met.
  private var conditions: [Filter] {
    guard case .and(let filters)? = filter,
      filters.allSatisfy({ if case .field = $0 { true } else { false } })
    else { return filter.map { [$0] } ?? [] }
    return filters
  }

  func query(_ parent: String, isLast: Bool) throws(DocumentError) -> DocumentQuery {
    let (database, document) = try Self.parent(parent)
    guard collections.count == 1, let id = collections.first else {
      throw DocumentError(
        .invalidQuery, "A query is from one collection, not \(collections.count).")
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
