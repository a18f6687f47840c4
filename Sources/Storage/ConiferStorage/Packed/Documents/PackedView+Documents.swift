import ConiferDocument
public import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

extension PackedBackend: DocumentBackend {
  /// Reads one moment with its documents.
  ///
  /// - Throws: as the contract says.
  public func readDocuments<R>(
    _ body: (any DocumentView) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try readPacked(body)
  }
}

extension PackedView: DocumentView {
  func document(_ tree: TreeID, _ path: DocumentPath) throws(StoreError) -> Document {
    try DocumentReader(snapshot, tree).document(path)
  }

  func document(_ lane: Lane, _ path: DocumentPath) throws(StoreError) -> Document {
    let base = try document(lane.tree, path)
    return try OverlayRows(view: snapshot, lane: lane).overlay(path)?.applied(to: base) ?? base
  }

  func documents(
    _ tree: TreeID, in collection: CollectionPath, after: DocumentPath?, limit: Int
  ) throws(StoreError) -> [Document] {
    let key = DocumentKey.encode(collection)
    let low = after.map { DocumentKey.encode($0) + [0] } ?? key
    var found: [Document] = []
    guard limit > 0, compareBytes(low, key) >= 0 else { return [] }
    try DocumentReader(snapshot, tree).forEach(from: low, to: key + [PathKey.endMark]) { document in
      found.append(document)
      return found.count < limit
    }
    return found
  }

  func collections(
    _ tree: TreeID, after: CollectionPath?, limit: Int
  ) throws(StoreError) -> [CollectionPath] {
    let start = after.map { DocumentKey.encode($0) + [PathKey.endMark] } ?? []
    return try DocumentReader(snapshot, tree).collections(from: start, limit: limit)
  }

  func overlays(_ lane: Lane, in collection: CollectionPath?) throws(StoreError) -> [Overlay] {
    try KnownTree.info(snapshot, lane.tree).requireDocuments()
    return try OverlayRows(view: snapshot, lane: lane).all(in: collection)
  }

  func overlaidPaths(
    _ lane: Lane, in collection: CollectionPath?
  ) throws(StoreError) -> [DocumentPath] {
    try KnownTree.info(snapshot, lane.tree).requireDocuments()
    return try OverlayRows(view: snapshot, lane: lane).paths(in: collection)
  }

  func query(
    _ lane: Lane, _ query: DocumentQuery, tracked id: QueryID?
  ) throws(StoreError) -> DocumentAnswer {
    try DocumentFinder(snapshot, lane, keepsIndexes: keepsIndexes).answer(query, id)
  }

  func matchesVersion(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> MatchesVersion? {
    try KnownTree.info(snapshot, tree).requireDocuments()
    return try ChangeLogRows(view: snapshot, tree: tree).version(id)
  }

  func documentIndexes(_ tree: TreeID) throws(StoreError) -> [DocumentIndexStatus] {
    try KnownTree.info(snapshot, tree).requireDocuments()
    return try IndexReader.documents(snapshot, tree)
  }

  func matches(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> [DocumentPath] {
    let info = try KnownTree.info(snapshot, tree)
    try info.requireDocuments()
    return try Queries(view: snapshot, tree: tree, order: info.order).matches(id)
  }
}
