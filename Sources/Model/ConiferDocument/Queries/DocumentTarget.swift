/// The normal form of a query, in which it is sent to the server and stored.
///
/// All orders are written out, conditions are in their normal form, and a limit keeps the first
/// documents: a query for the last documents is asked for in the reversed order. So a query for the
/// last documents and its mirror image for the first ones have one target.
public struct DocumentTarget: Sendable, Hashable {
  /// Where documents are looked for.
  public let source: DocumentQuery.Source
  /// The conditions; none for all documents.
  public let filter: Filter?
  /// All orders; the last one is by `__name__` unless that was asked for earlier.
  public let orders: [DocumentQuery.Order]
  /// How many of the first documents are kept; none for all.
  public let limit: Int?
  /// Where the range starts; none for the first document.
  public let start: DocumentQuery.Cursor?
  /// Where the range ends; none for the last document.
  public let end: DocumentQuery.Cursor?

  /// A target that is not checked: what a client sends.
  package init(
    source: DocumentQuery.Source, filter: Filter?, orders: [DocumentQuery.Order], limit: Int?,
    start: DocumentQuery.Cursor?, end: DocumentQuery.Cursor?
  ) {
    self.source = source
    self.filter = filter
    self.orders = orders
    self.limit = limit
    self.start = start
    self.end = end
  }

  /// Whether all documents of the source are asked for.
  public var matchesAll: Bool {
    filter == nil && limit == nil && start == nil && end == nil
      && orders.allSatisfy(\.field.isDocumentID)
  }

  /// Whether a document belongs to what is asked for, the limit aside.
  public func matches(_ document: Document) -> Bool {
    source.contains(document.path) && matchesInSource(document)
  }

  /// Whether a document of the source belongs to what is asked for, the limit aside: only `comparedFields` are
  /// looked at.
  package func matchesInSource(_ document: Document) -> Bool {
    guard let fields = document.fields else { return false }
    // A document that lacks an ordered field has no position in the order.
    for order in orders where !order.field.isDocumentID && fields[order.field] == nil {
      return false
    }
    guard filter?.matches(document) ?? true else { return false }
    if let start {
      let order = compare(document, to: start)
      guard order > 0 || order == 0 && start.isInclusive else { return false }
    }
    if let end {
      let order = compare(document, to: end)
      guard order < 0 || order == 0 && end.isInclusive else { return false }
    }
    return true
  }

  /// The fields that decide whether a document of the source matches; `__name__` when its path does.
  package var comparedFields: Set<FieldPath> {
    let cursors = max(start?.values.count ?? 0, end?.values.count ?? 0)
    let filtered = filter?.fieldFilters.map(\.field) ?? []
    let ordered = orders.enumerated().filter { place, order in
      place < cursors || !order.field.isDocumentID
    }
    return Set(filtered + ordered.map(\.element.field))
  }

  /// Orders two documents that match: negative, zero or positive.
  public func compare(_ a: Document, _ b: Document) -> Int {
    for order in orders {
      let result = order.compare(a, b)
      if result != 0 { return result }
    }
    return DocumentPath.compare(a.path, b.path)
  }

  /// The documents that match, sorted, up to the limit.
  public func evaluate(_ documents: some Sequence<Document>) -> [Document] {
    let found = documents.filter(matches).sorted { compare($0, $1) < 0 }
    return limit.map { Array(found.prefix($0)) } ?? found
  }

  /// The order of a document and a cursor: negative before it, zero at it, positive after it.
  private func compare(_ document: Document, to cursor: DocumentQuery.Cursor) -> Int {
    for (order, value) in zip(orders, cursor.values) {
      let result = order.compare(document, to: value)
      if result != 0 { return result }
    }
    return 0
  }
}

extension DocumentQuery.Order {
  func compare(_ a: Document, _ b: Document) -> Int {
    if field.isDocumentID { return directed(DocumentPath.compare(a.path, b.path)) }
    guard let x = a.fields?[field], let y = b.fields?[field] else { return 0 }
    return directed(DocumentValue.compare(x, y))
  }

  func compare(_ document: Document, to value: DocumentValue) -> Int {
    if field.isDocumentID {
      guard case .reference(let name) = value else { return 0 }
      return directed(DocumentPath.compare(document.path, name.path))
    }
    guard let own = document.fields?[field] else { return 0 }
    return directed(DocumentValue.compare(own, value))
  }

  private func directed(_ order: Int) -> Int { direction == .ascending ? order : -order }
}

extension DocumentQuery {
  /// The documents that match, in the query's order, up to the limit at its end.
  ///
  /// Each call makes the target anew; for several calls, make it once and call it.
  public func evaluate(_ documents: some Sequence<Document>) -> [Document] {
    let found = target.evaluate(documents)
    return limit?.side == .last ? found.reversed() : found
  }
}
