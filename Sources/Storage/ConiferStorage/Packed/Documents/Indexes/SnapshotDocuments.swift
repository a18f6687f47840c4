import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// The documents of a snapshot, as the server sent them.
final class SnapshotDocuments: DocumentSource {
  private let reader: DocumentReader<RunReader>
  /// Of how many collections all documents were visited.
  private(set) var collections = 0

  init(_ reader: DocumentReader<RunReader>) { self.reader = reader }

  func documents(_ paths: [DocumentPath]) throws(StoreError) -> [Document?] {
    var documents: [Document?] = Array(repeating: nil, count: paths.count)
    // In the order of leaves, so that no run is read twice.
    for place in paths.indices.sorted(by: { paths[$0] < paths[$1] }) {
      let document = try reader.document(paths[place])
      if document.state != .unseen { documents[place] = document }
    }
    return documents
  }

  func walk(
    _ target: DocumentTarget, from first: DocumentPath?, through last: DocumentPath?,
    isReversed: Bool, _ visit: (Document?) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let sieve = DocumentSieve(target)
    switch target.source {
    case .document(let path):
      let document = try reader.document(path)
      _ = try visit(target.matches(document) ? document : nil)
    case .collection(let collection):
      collections += 1
      let key = DocumentKey.encode(collection)
      try reader.forEach(
        from: first.map { DocumentKey.encode($0) } ?? key,
        to: last.map { DocumentKey.encode($0) + [0] } ?? key + [PathKey.endMark],
        isReversed: isReversed, through: sieve, visit)
    case .group(let id):
      try reader.forEachCollection(withID: id) { (_, key) throws(StoreError) in
        collections += 1
        var goesOn = true
        try reader.forEach(from: key, to: key + [PathKey.endMark], through: sieve) {
          (document) throws(StoreError) in
          goesOn = try visit(document)
          return goesOn
        }
        return goesOn
      }
    }
  }
}

/// The declared indexes of a tree of documents, kept in memory.
final class DocumentIndexes: Sendable {
  /// Those that queries may use.
  let ready: [DocumentIndexRows]
  /// Those that are being built.
  let building: [DocumentIndexRows]

  private init(_ set: IndexSet, _ tree: TreeID) {
    func rows(_ isReady: Bool) -> [DocumentIndexRows] {
      set.indexes.filter { $0.isReady == isReady }.compactMap { index in
        guard case .documents(let rows, _) = RowPlan(index, tree) else { return nil }
        return rows
      }
    }
    ready = rows(true)
    building = rows(false)
  }

  /// The declared indexes of a tree.
  ///
  /// - Throws: as `IndexSet.read`.
  static func indexes(_ view: LeafSnapshot, _ tree: TreeID) throws(StoreError) -> DocumentIndexes {
    let known = try view.object(Spaces.indexes, tree, IndexSet.key(tree)) {
      () throws(StoreError) in DocumentIndexes(try IndexSet.read(view, tree), tree)
    }
    if let known = known as? DocumentIndexes { return known }
    return DocumentIndexes(try IndexSet.read(view, tree), tree)
  }
}
