public import ConiferDocument
public import ConiferKeyValue

/// A frozen state of a store, from which documents can be read as well.
///
/// Each read throws as those of ``StorageView``, and `invalid` for a tree that holds no documents.
public protocol DocumentView: StorageView {
  /// What the server said of a document; `unseen` when nothing is stored.
  func document(_ tree: TreeID, _ path: DocumentPath) throws(StoreError) -> Document
  /// A document with the waiting writes of a lane.
  func document(_ lane: Lane, _ path: DocumentPath) throws(StoreError) -> Document
  /// A window of what the server said of a collection's documents, missing ones too, in the order of their ids.
  func documents(
    _ tree: TreeID, in collection: CollectionPath, after: DocumentPath?, limit: Int
  ) throws(StoreError) -> [Document]
  /// A window of the collections of which something is stored, in the order of their UTF-8.
  func collections(
    _ tree: TreeID, after: CollectionPath?, limit: Int
  ) throws(StoreError) -> [CollectionPath]
  /// The overlays of a lane's waiting writes, in the order of their documents; of one collection or all.
  ///
  /// - Throws: `newerFormat` when a later version stored one of them.
  func overlays(_ lane: Lane, in collection: CollectionPath?) throws(StoreError) -> [Overlay]
  /// The documents that the waiting writes of a lane change, in their order; of one collection or
  /// all. They include documents whose overlay was written by a later version.
  func overlaidPaths(
    _ lane: Lane, in collection: CollectionPath?
  ) throws(StoreError) -> [DocumentPath]
  /// The documents that a query gives, with the waiting writes of a lane, in its order and up to its limit.
  ///
  /// - Parameters:
  ///   - lane: the tree, and whose waiting writes.
  ///   - query: what is asked for.
  ///   - id: the tracked query that this query is, or nil. If its matches have a version, the backend
  ///     may read only the matches and the documents that were read later; the result is the same. A
  ///     number that is not tracked counts as nil.
  /// - Throws: `invalid` also when the number belongs to another query, or to another user's. A
  ///   query that was saved for the empty identity serves every user.
  func query(
    _ lane: Lane, _ query: DocumentQuery, tracked id: QueryID?
  ) throws(StoreError) -> DocumentAnswer
  /// The documents that the server says a tracked query matches, in their order.
  func matches(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> [DocumentPath]
  /// The time as of which the matches of a tracked query are complete; nil when the backend does
  /// not know.
  func matchesVersion(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> MatchesVersion?
  /// The states of a tree's declared indexes, in the order of their declaration.
  func documentIndexes(_ tree: TreeID) throws(StoreError) -> [DocumentIndexStatus]
}

extension DocumentView {
  /// The documents of `overlays`.
  public func overlaidPaths(
    _ lane: Lane, in collection: CollectionPath?
  ) throws(StoreError) -> [DocumentPath] {
    try overlays(lane, in: collection).map(\.path)
  }

  /// The documents that a query gives, with the waiting writes of a lane, in its order and up to its limit.
  public func query(_ lane: Lane, _ query: DocumentQuery) throws(StoreError) -> DocumentAnswer {
    try self.query(lane, query, tracked: nil)
  }
}
