package import ConiferDocument
package import ConiferTree

extension JSONWriter {
  /// Writes a query as bundles have it; one of a document by the document's name.
  package mutating func bundledQuery(_ query: DocumentQuery) {
    beginObject()
    var parent = "\(query.database)/documents"
    var (id, isGroup) = ("", false)
    switch query.source {
    case .document(let path):
      key("document")
      string("\(DocumentName(path, in: query.database))")
      return endObject()
    case .collection(let collection):
      if let document = collection.parent { parent += "/\(document)" }
      id = collection.id
    case .group(let group): (id, isGroup) = (group, true)
    }
    key("parent")
    string(parent)
    key("limitType")
    string(query.limit?.side == .last ? "LAST" : "FIRST")
    key("structuredQuery")
    structured(query, id, isGroup)
    endObject()
  }

  private mutating func structured(_ query: DocumentQuery, _ id: String, _ isGroup: Bool) {
    beginObject()
    key("from")
    beginArray()
    beginObject()
    key("collectionId")
    string(id)
    key("allDescendants")
    bool(isGroup)
    endObject()
    endArray()
    if let filter = query.filters.count == 1 ? query.filters.first : .and(query.filters),
      !filter.fieldFilters.isEmpty
    {
      key("where")
      self.filter(filter)
    }
    key("orderBy")
    beginArray()
    // The place of a document has a value for each order, also for those that nobody asked for.
    let values = max(query.start?.values.count ?? 0, query.end?.values.count ?? 0)
    for order in values > query.explicitOrders.count ? query.orders : query.explicitOrders {
      beginObject()
      field(order.field)
      key("direction")
      string(order.direction == .ascending ? "ASCENDING" : "DESCENDING")
      endObject()
    }
    endArray()
    cursor("startAt", query.start, isBefore: query.start?.isInclusive == true)
    cursor("endAt", query.end, isBefore: query.end?.isInclusive == false)
    if let limit = query.limit {
      key("limit")
      integer(Int64(limit.count))
    }
    endObject()
  }

  private mutating func field(_ path: FieldPath) {
    key("field")
    beginObject()
    key("fieldPath")
    string(path.canonical)
    endObject()
  }

  private mutating func cursor(_ name: String, _ cursor: DocumentQuery.Cursor?, isBefore: Bool) {
    guard let cursor else { return }
    key(name)
    beginObject()
    key("values")
    beginArray()
    for value in cursor.values { typed(value) }
    endArray()
    key("before")
    bool(isBefore)
    endObject()
  }

  private mutating func filter(_ filter: Filter) {
    beginObject()
    switch filter {
    case .field(let filter):
      let words = QueryWords.operators.first { $0.value == filter.operator }
      key("fieldFilter")
      beginObject()
      field(filter.field)
      key("op")
      string(words?.key ?? "")
      key("value")
      typed(filter.value)
      endObject()
    case .and(let filters): composite("AND", filters)
    case .or(let filters): composite("OR", filters)
    }
    endObject()
  }

  private mutating func composite(_ op: String, _ filters: [Filter]) {
    key("compositeFilter")
    beginObject()
    key("op")
    string(op)
    key("filters")
    beginArray()
    for part in filters { filter(part) }
    endArray()
    endObject()
  }
}
