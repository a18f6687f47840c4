package import ConiferDocument

/// Documents by their paths and in a query's order.
///
/// A copy shares what it has with the original, so snapshots keep whole sets.
package struct DocumentSet: Sendable {
  private var byPath: SortedList<Document>
  private var inOrder: SortedList<Document>

  /// No documents yet, in the order of a query.
  package init(for query: DocumentQuery) { self.init(query.documentOrder) }

  /// No documents yet, in an order.
  init(_ order: @escaping SortedList<Document>.Order) {
    (byPath, inOrder) = (SortedList(Self.pathOrder), SortedList(order))
  }

  /// Documents that are in an order already; nil when two are of one path.
  init?(sorted documents: [Document], _ order: @escaping SortedList<Document>.Order) {
    var sorted = documents
    if !sorted.isSorted(by: Self.pathOrder) {
      sorted.sort { Self.pathOrder($0, $1) < 0 }
      guard sorted.isSorted(by: Self.pathOrder) else { return nil }
    }
    byPath = SortedList(sorted: sorted, Self.pathOrder)
    inOrder = SortedList(sorted: documents, order)
  }

  private static let pathOrder: SortedList<Document>.Order = { a, b in
    DocumentPath.compare(a.path, b.path)
  }

  /// A set without documents in the same order.
  var emptied: DocumentSet { DocumentSet(inOrder.order) }

  /// How many documents there are.
  package var count: Int { byPath.count }
  /// Whether there are none.
  package var isEmpty: Bool { byPath.count == 0 }
  /// The first document in the query's order.
  package var first: Document? { inOrder.first }
  /// The last document in the query's order.
  package var last: Document? { inOrder.last }

  /// The document at a path; nil when it is not in the set.
  package subscript(path: DocumentPath) -> Document? { byPath.find(Document(path, .unseen)) }

  /// The place of a document in the query's order, from zero; nil when it is not in the set.
  package func index(of path: DocumentPath) -> Int? { self[path].flatMap(inOrder.index) }

  /// Takes a document in, instead of an earlier one at its path.
  package mutating func insert(_ document: Document) {
    remove(document.path)
    byPath.insert(document)
    inOrder.insert(document)
  }

  /// Removes the document at a path, if there is one.
  package mutating func remove(_ path: DocumentPath) {
    guard let document = self[path] else { return }
    byPath.remove(document)
    inOrder.remove(document)
  }
}

extension DocumentSet: Sequence {
  /// The documents in the query's order.
  package func makeIterator() -> some IteratorProtocol<Document> { inOrder.makeIterator() }
}

extension DocumentQuery {
  /// Orders two documents that match: negative, zero or positive.
  var documentOrder: SortedList<Document>.Order { documentOrder(by: target) }

  /// The same, where the query's target is at hand.
  func documentOrder(by target: DocumentTarget) -> SortedList<Document>.Order {
    // The target of a query for the last documents has the reversed order.
    let isReversed = limit?.side == .last
    return { isReversed ? target.compare($1, $0) : target.compare($0, $1) }
  }
}
