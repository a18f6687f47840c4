package import ConiferDocument
package import ConiferKeyValue
package import ConiferStorage

extension ModelView: DocumentView {
  private func tree(_ id: TreeID) throws(StoreError) -> StorageModel.Tree {
    let tree = try model.tree(id)
    try tree.requireDocuments()
    return tree
  }

  package func document(_ tree: TreeID, _ path: DocumentPath) throws(StoreError) -> Document {
    try self.tree(tree).documents.base(path)
  }

  package func document(_ lane: Lane, _ path: DocumentPath) throws(StoreError) -> Document {
    try tree(lane.tree).documents.shown(path, waiting(lane))
  }

  package func documents(
    _ tree: TreeID, in collection: CollectionPath, after: DocumentPath?, limit: Int
  ) throws(StoreError) -> [Document] {
    let all = try self.tree(tree).documents.known.values.filter { collection.contains($0.path) }
    let rest = all.filter { document in after.map { $0 < document.path } ?? true }
    return Array(rest.sorted { $0.path < $1.path }.prefix(max(0, limit)))
  }

  package func collections(
    _ tree: TreeID, after: CollectionPath?, limit: Int
  ) throws(StoreError) -> [CollectionPath] {
    func precedes(_ a: CollectionPath, _ b: CollectionPath) -> Bool {
      a.description.utf8.lexicographicallyPrecedes(b.description.utf8)
    }
    let all = Set(try self.tree(tree).documents.known.keys.map(\.collection))
    let rest = all.filter { collection in after.map { precedes($0, collection) } ?? true }
    return Array(rest.sorted(by: precedes).prefix(max(0, limit)))
  }

  package func overlays(
    _ lane: Lane, in collection: CollectionPath?
  ) throws(StoreError) -> [Overlay] {
    let documents = try tree(lane.tree).documents
    let batches = try waiting(lane)
    return Set(batches.flatMap(\.paths)).filter { collection?.contains($0) ?? true }.sorted()
      .compactMap { Overlay(of: batches, over: documents.base($0)) }
  }

  package func query(
    _ lane: Lane, _ query: DocumentQuery, tracked id: QueryID?
  ) throws(StoreError) -> DocumentAnswer {
    do throws(DocumentError) { try query.validate() } catch {
      throw StoreError(.invalid, error.message)
    }
    if let id, let known = try tree(lane.tree).queries[id], !known.serves(lane, query.target) {
      throw StoreError(.invalid, "Another query has the number \(id.rawValue).")
    }
    return DocumentAnswer(
      query.evaluate(try shown(lane)), DocumentExplanation(.scan(collections: 0)))
  }

  package func matches(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> [DocumentPath] {
    (try self.tree(tree).documents.matches[id] ?? []).sorted()
  }

  /// The model always reads all documents, so it keeps no versions of matches.
  package func matchesVersion(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> MatchesVersion? {
    _ = try self.tree(tree)
    return nil
  }

  /// The model builds none of the indexes, since it always reads all documents.
  package func documentIndexes(_ tree: TreeID) throws(StoreError) -> [DocumentIndexStatus] {
    try self.tree(tree).documents.indexes.map {
      DocumentIndexStatus(index: $0, state: .building(0))
    }
  }

  private func waiting(_ lane: Lane) throws(StoreError) -> [MutationBatch] {
    if let known = memory.waiting[lane] { return known }
    let batches = try tree(lane.tree).waiting(lane.identity)
    memory.waiting[lane] = batches
    return batches
  }

  /// All documents with the waiting writes of a lane.
  private func shown(_ lane: Lane) throws(StoreError) -> [Document] {
    if let known = memory.shown[lane] { return known }
    let documents = try tree(lane.tree).documents.shown(waiting(lane))
    memory.shown[lane] = documents
    return documents
  }
}
