package import ConiferDocument

/// Documents by their paths and in a query's order.
///
/// A copy shares what it has with the original, so snapshots keep whole sets.
package struct DocumentSet: Sendable {
  /// Nil where the query's order is that of paths.
  private var byPath: SortedList<Document>?
  private var inOrder: SortedList<Document>

  /// No documents yet, in the order of a query.
  package init(for query: DocumentQuery) {
    let target = query.target
    self.init(query.documentOrder(by: target), isByPath: query.isOrderedByPath(by: target))
  }

  /// No documents yet, in an order.
  ///
  /// - Parameter isByPath: whether it is that of paths.
  init(_ order: @escaping SortedList<Document>.Order, isByPath: Bool) {
    byPath = isByPath ? nil : SortedList(Self.pathOrder)
    inOrder = SortedList(isByPath ? Self.pathOrder : order)
  }

  /// The documents of a set of the same order that are in that order already; nil when two are of one path.
  ///
  /// - Parameter isStrict: whether they are known to be strictly in order.
  init?(sorted documents: ArraySlice<Document>, isStrict: Bool, like other: DocumentSet) {
    if other.byPath != nil {
      var sorted = documents
      if !sorted.isSortedByPath {
        sorted.sort { Self.pathOrder($0, $1) < 0 }
        guard sorted.isSortedByPath else { return nil }
      }
      byPath = SortedList(sorted: sorted, Self.pathOrder)
    } else if !isStrict, !documents.isSortedByPath {
      return nil
    }
    inOrder = SortedList(sorted: documents, other.inOrder.order)
  }

  /// No documents yet, in the order of paths.
  static let emptyByPath = DocumentSet(pathOrder, isByPath: true)

  /// The order of paths.
  static let pathOrder: SortedList<Document>.Order = { a, b in
    DocumentPath.compare(a.path, b.path)
  }

  /// A set without documents in the same order.
  var emptied: DocumentSet { DocumentSet(inOrder.order, isByPath: byPath == nil) }

  /// How many documents there are.
  package var count: Int { inOrder.count }
  /// Whether there are none.
  package var isEmpty: Bool { inOrder.count == 0 }
  /// The first document in the query's order.
  package var first: Document? { inOrder.first }
  /// The last document in the query's order.
  package var last: Document? { inOrder.last }

  /// The document at a path; nil when it is not in the set.
  package subscript(path: DocumentPath) -> Document? {
    (byPath ?? inOrder).find(Document(path, .unseen))
  }

  /// The place of a document in the query's order, from zero; nil when it is not in the set.
  package func index(of path: DocumentPath) -> Int? { self[path].flatMap(inOrder.index) }

  /// Takes a document in, instead of an earlier one at its path.
  package mutating func insert(_ document: Document) {
    guard byPath != nil else {
      inOrder.insert(document)
      return
    }
    if let old = byPath?.insert(document) {
      inOrder.replace(old, with: document)
    } else {
      inOrder.insert(document)
    }
  }

  /// Removes the document at a path, if there is one.
  package mutating func remove(_ path: DocumentPath) {
    guard let document = self[path] else { return }
    byPath?.remove(document)
    inOrder.remove(document)
  }
}

extension ArraySlice<Document> {
  /// Whether each comes before the next one by their paths.
  fileprivate var isSortedByPath: Bool {
    indices.dropFirst().allSatisfy { DocumentPath.compare(self[$0 - 1].path, self[$0].path) < 0 }
  }
}

extension DocumentSet: Sequence {
  /// The documents in the query's order.
  package func makeIterator() -> some IteratorProtocol<Document> { inOrder.makeIterator() }
  /// The exact count, so that arrays made from the set are allocated once.
  package var underestimatedCount: Int { count }
}

extension DocumentQuery {
  /// Whether the query's order is that of paths, as its target shows.
  func isOrderedByPath(by target: DocumentTarget) -> Bool {
    limit?.side != .last && target.orders == [Order(.documentID, .ascending)]
  }

  /// Orders two documents that match: negative, zero or positive.
  var documentOrder: SortedList<Document>.Order { documentOrder(by: target) }

  /// The same, where the query's target is at hand.
  func documentOrder(by target: DocumentTarget) -> SortedList<Document>.Order {
    if isOrderedByPath(by: target) { return DocumentSet.pathOrder }
    // The target of a query for the last documents has the reversed order.
    let isReversed = limit?.side == .last
    return { isReversed ? target.compare($1, $0) : target.compare($0, $1) }
  }
}
