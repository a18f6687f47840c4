package import ConiferDocument
package import ConiferTree

// Queries in the form of Firestore's REST API, as bundles have them.
extension DocumentJSONReader {
  /// A query with its parent: `parent`, `structuredQuery` and `limitType`, in any order; or a `document` alone.
  ///
  /// - Throws: also for a query that no client could make, or of another form than these.
  package mutating func bundledQuery() throws(JSONError) -> DocumentQuery {
    var (parent, document): (String?, DocumentName?)
    var parts: StructuredQuery?
    var isLast = false
    try members("A bundled query") { (reader, key) throws(JSONError) in
      switch key {
      case "parent": parent = try reader.text(key)
      case "structuredQuery": parts = try reader.structuredQuery()
      case "limitType": isLast = try reader.text(key) == "LAST"
      case "document":
        let text = try reader.text(key)
        document = try reader.checked { () throws(DocumentError) in try DocumentName(text) }
      default: try reader.unknown(key)
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

  /// A query without its parent, in the form of the service.
  package mutating func structuredQuery() throws(JSONError) -> StructuredQuery {
    var parts = StructuredQuery()
    try members("A structured query") { (reader, key) throws(JSONError) in
      switch key {
      case "from":
        try reader.objects(key) { (reader) throws(JSONError) in
          try reader.rest { (reader, key) throws(JSONError) in
            switch key {
            case "collectionId": parts.collections.append(try reader.text(key))
            case "allDescendants": parts.isGroup = try reader.next() == .bool(true)
            default: try reader.unknown(key)
            }
          }
        }
      case "where": parts.filter = try reader.filter()
      case "orderBy":
        try reader.objects(key) { (reader) throws(JSONError) in
          parts.orders.append(try reader.order())
        }
      case "startAt": parts.start = try reader.cursor()
      case "endAt": parts.end = try reader.cursor()
      case "limit": parts.limit = try reader.count(key)
      case "offset": parts.offset = try reader.count(key)
      case "select":
        try reader.members("A projection") { (reader, key) throws(JSONError) in
          guard key == "fields" else { return try reader.unknown(key) }
          try reader.objects(key) { (reader) throws(JSONError) in
            parts.fields.append(try reader.fieldRest())
          }
        }
      default: try reader.unknown(key)
      }
    }
    return parts
  }

  /// Gives each object of an array, which was begun.
  private mutating func objects(
    _ key: String, _ body: (inout DocumentJSONReader) throws(JSONError) -> Void
  ) throws(JSONError) {
    try elements(key) { (reader, event) throws(JSONError) in
      guard event == .beginObject else {
        throw reader.refused("An element of \(key) is an object.")
      }
      try body(&reader)
    }
  }

  /// A number of documents, as a number, as text or wrapped in an object.
  package mutating func count(_ key: String) throws(JSONError) -> Int {
    var count: Int?
    switch try next() {
    case .integer(let number): count = Int(clamping: number)
    case .string(let text): count = Int(text)
    case .beginObject:
      try rest { (reader, name) throws(JSONError) in
        guard name == "value" else { return try reader.unknown(name) }
        count = Int(clamping: try reader.integer())
      }
    default: break
    }
    guard let count, count >= 0 else { throw refused("The value of \(key) is a number from 0.") }
    return count
  }

  /// The field that an object names.
  package mutating func field() throws(JSONError) -> FieldPath {
    guard try next() == .beginObject else { throw refused("A field is a JSON object.") }
    return try fieldRest()
  }

  private mutating func fieldRest() throws(JSONError) -> FieldPath {
    var path: FieldPath?
    try rest { (reader, key) throws(JSONError) in
      guard key == "fieldPath" else { return try reader.unknown(key) }
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
      case "direction":
        switch try reader.word(key, QueryWords.directions) {
        case "DESCENDING": direction = .descending
        case "ASCENDING", "DIRECTION_UNSPECIFIED": direction = .ascending
        case let word:
          if reader.isStrict { throw reader.refused("Nobody knows the direction \(word).") }
        }
      default: try reader.unknown(key)
      }
    }
    guard let path else { throw refused("An order has a field.") }
    return DocumentQuery.Order(path, direction)
  }

  private mutating func cursor() throws(JSONError) -> StructuredQuery.Cursor {
    var cursor = StructuredQuery.Cursor()
    try members("A cursor") { (reader, key) throws(JSONError) in
      switch key {
      case "values": cursor.values = try reader.values(key)
      case "before": cursor.isBefore = try reader.next() == .bool(true)
      default: try reader.unknown(key)
      }
    }
    return cursor
  }

  /// Values with their types.
  mutating func values(_ key: String) throws(JSONError) -> [DocumentValue] {
    var values: [DocumentValue] = []
    try objects(key) { (reader) throws(JSONError) in
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
      case "op": op = try reader.word(key, QueryWords.numbered[kind] ?? [])
      case "field": path = try reader.field()
      case "value": value = try reader.typed()
      case "filters":
        try reader.objects(key) { (reader) throws(JSONError) in
          try reader.rest { (reader, key) throws(JSONError) in
            filters.append(try reader.filter(key))
          }
        }
      default: try reader.unknown(key)
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
  static let directions = ["DIRECTION_UNSPECIFIED", "ASCENDING", "DESCENDING"]
  /// The operators of each kind of filter, in the order of their numbers in the service's messages.
  static let numbered: [String: [String]] = [
    "compositeFilter": ["OPERATOR_UNSPECIFIED", "AND", "OR"],
    "fieldFilter": [
      "OPERATOR_UNSPECIFIED", "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN",
      "GREATER_THAN_OR_EQUAL", "EQUAL", "NOT_EQUAL", "ARRAY_CONTAINS", "IN", "ARRAY_CONTAINS_ANY",
      "NOT_IN",
    ],
    "unaryFilter": [
      "OPERATOR_UNSPECIFIED", "", "IS_NAN", "IS_NULL", "IS_NOT_NAN", "IS_NOT_NULL",
    ],
  ]
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
