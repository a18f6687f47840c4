internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension DamageComparison {
  /// Documents, overlays and matches that are read and were never written, or do not agree.
  func wrongDocuments(
    _ view: any StorageView, _ tree: TreeID, _ written: [StorageModel.Tree]
  ) throws(StoreError) -> (Anomaly, String)? {
    guard let view = view as? any DocumentView else {
      let isEmpty = written.allSatisfy { $0.documents.known.isEmpty }
      return isEmpty ? nil : (.silentLoss, "the view shows no documents")
    }
    for collection in try view.collections(tree, after: nil, limit: .max) {
      for document in try view.documents(tree, in: collection, after: nil, limit: .max) {
        let known = written.compactMap { $0.documents.known[document.path] }
        guard !known.contains(document) else { continue }
        return (known.isEmpty ? .phantom : .wrongData, "the server never said \(document)")
      }
    }
    for stored in try view.trackedQueries(tree, after: nil, limit: .max) {
      let known = written.reduce(into: Set<DocumentPath>()) {
        $0.formUnion($1.documents.matches[stored.id] ?? [])
      }
      let strange = try view.matches(tree, stored.id).filter { !known.contains($0) }
      if !strange.isEmpty { return (.phantom, "query \(stored.id.rawValue) matches \(strange)") }
    }
    for lane in sample.lanes where lane.tree == tree {
      if let found = try wrongOverlays(view, lane, written) { return found }
    }
    return nil
  }

  /// The documents of a lane that differ from the server's word with the lane's waiting writes.
  private func wrongOverlays(
    _ view: any DocumentView, _ lane: Lane, _ written: [StorageModel.Tree]
  ) throws(StoreError) -> (Anomaly, String)? {
    let batches = try view.entries(lane, after: nil, limit: .max).compactMap {
      MutationBatch($0.payload)
    }
    let paths = Set(batches.flatMap(\.paths)).union(try view.overlays(lane, in: nil).map(\.path))
    for path in paths.sorted() {
      let base = try view.document(lane.tree, path)
      let shown = try view.document(lane, path)
      guard shown != batches.reduce(base, { $1.applied(to: $0) }) else { continue }
      // A record that an engine silently left out leaves no trace: the other records are those of
      // an earlier state.
      let wasShown = written.contains {
        $0.documents.shown(path, $0.waiting(lane.identity)) == shown
      }
      return (
        wasShown || shown == base ? .silentLoss : .wrongData,
        "\"\(lane.identity)\" is shown \(shown) of \(base)"
      )
    }
    return nil
  }

  /// A query of documents that counts as complete without some of those that it matches.
  func unreportedDocuments(
    _ view: any StorageView, _ tree: StorageModel.Tree
  ) throws(StoreError) -> String? {
    guard let view = view as? any DocumentView else {
      return tree.documents.known.isEmpty ? nil : "the view shows no documents"
    }
    for (id, query) in tree.queries where query.isComplete {
      guard try view.trackedQuery(tree.info.id, id)?.isComplete == true else { continue }
      for path in tree.documents.matches[id] ?? [] where tree.documents.known[path] != nil {
        guard try view.document(tree.info.id, path).state == .unseen else { continue }
        return "query \(id.rawValue) at \(query.path) is complete without \(path)"
      }
    }
    return nil
  }
}
