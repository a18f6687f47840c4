import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// A stored index of one tree with what is needed to make its rows, over children or over
/// documents.
enum RowPlan {
  case children(IndexPlan)
  case documents(DocumentIndexRows, StoredIndex)

  init(_ stored: StoredIndex, _ tree: TreeID) {
    switch stored.definition {
    case .children(let definition): self = .children(IndexPlan(stored, definition, tree))
    case .documents(let index):
      self = .documents(
        DocumentIndexRows(index, prefix: IndexSet.prefix(tree, stored.number)), stored)
    }
  }

  var stored: StoredIndex {
    switch self {
    case .children(let plan): plan.stored
    case .documents(_, let stored): stored
    }
  }

  /// Visits the rows that the leaves in `low ..< high` must have, in the order of the leaves.
  ///
  /// - Parameters:
  ///   - low: not within a child or a document.
  ///   - limit: about how many leaves are looked at.
  ///   - visit: gets the rows of one child or document, and the path key of the child's node; says
  ///     whether to go on.
  /// - Returns: where it stopped: nothing was visited from there on; nil at the end.
  func forEach(
    in source: some RunSource, from low: Bytes, to high: Bytes, limit: Int = .max,
    _ visit: (_ rows: [IndexRow], _ node: Bytes) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bytes? {
    switch self {
    case .children(let plan):
      return try source.forEachChild(plan, low, high, limit: limit) {
        (child, node, facts) throws(StoreError) in
        try visit([plan.row(child, node: node, facts)], Bytes(child[..<node]))
      }
    case .documents(let rows, _):
      var looked = 0
      var isOver = false
      var stop: Bytes?
      let reader = DocumentReader(runs: source)
      let rest = try reader.forEachCollection(
        withID: rows.index.collectionID, from: DocumentKey.collection(of: low) ?? low, most: limit
      ) { (_, key) throws(StoreError) in
        let (first, end) = (bytesPrecede(key, low) ? low : key, key + [PathKey.endMark])
        guard bytesPrecede(first, high) else { return false }
        try reader.forEach(from: first, to: bytesPrecede(end, high) ? end : high) {
          (document) throws(StoreError) in
          if isOver {
            stop = DocumentKey.encode(document.path)
            return false
          }
          looked += 1
          isOver = try !visit(rows.rows(document), []) || looked >= limit
          return true
        }
        return stop == nil
      }
      return stop ?? rest
    }
  }

  /// The node that a row belongs to, of documents the tree's root; nil when the row is none of the
  /// index.
  func node(_ row: Bytes, _ segments: [Bytes]) -> Bytes? {
    switch self {
    case .children(let plan): plan.node(row)
    case .documents(let rows, _): rows.entries(row, segments).map { _ in [] }
    }
  }
}
