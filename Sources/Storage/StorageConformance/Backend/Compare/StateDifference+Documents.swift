internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage

/// Compares trees of documents.
extension StateDifference {
  private typealias Views = (found: any DocumentView, expected: any DocumentView)

  private func views() throws(StoreError) -> Views {
    guard let found = found as? any DocumentView, let expected = expected as? any DocumentView
    else { throw StoreError(.unsupported, "One of the views shows no documents.") }
    return (found, expected)
  }

  /// What the server said, by collections and one by one.
  func documents(_ tree: TreeID) throws(StoreError) -> String? {
    let (found, expected) = try views()
    var after: CollectionPath?
    var leaves = 0
    repeat {
      let some = try expected.collections(tree, after: after, limit: 2)
      let mine = try found.collections(tree, after: after, limit: 2)
      if let bad = differ("the window of collections after \(after?.description ?? "")", mine, some)
      {
        return bad
      }
      for collection in some {
        var last: DocumentPath?
        repeat {
          let some = try expected.documents(tree, in: collection, after: last, limit: window)
          let mine = try found.documents(tree, in: collection, after: last, limit: window)
          if let bad = differ("a window of \(collection)", mine.map(\.path), some.map(\.path)) {
            return bad
          }
          for (mine, document) in zip(mine, some) {
            let words = "the server's word of \(document.path)"
            if let bad = differ("\(words) in its collection", mine, document) { return bad }
            if let bad = differ(words, try found.document(tree, document.path), document) {
              return bad
            }
          }
          leaves += some.count
          last = some.last?.path
        } while last != nil
      }
      after = some.last
    } while after != nil
    return differ("usage.leaves", try found.usage(tree).leaves, leaves)
  }

  func matches(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> String? {
    let (found, expected) = try views()
    return differ(
      "the list of matches", try found.matches(tree, id), try expected.matches(tree, id))
  }

  func documentIndexes(_ tree: TreeID) throws(StoreError) -> String? {
    let (found, expected) = try views()
    return differ(
      "the list of indexes", try found.documentIndexes(tree).map(\.index),
      try expected.documentIndexes(tree).map(\.index))
  }

  /// The documents that each lane shows; a lane without writes shows the server's word.
  func overlays(_ tree: TreeID) throws(StoreError) -> String? {
    let (found, expected) = try views()
    let indexes = try expected.documentIndexes(tree).map(\.index)
    let collections = try expected.collections(tree, after: nil, limit: .max)
    for lane in try expected.lanes(tree) + [Lane(tree: tree, identity: "nobody")] {
      let words = "to \"\(lane.identity)\""
      let overlays = try expected.overlays(lane, in: nil)
      // How an overlay represents its effect is the backend's choice, so only the effect is
      // compared.
      let mine = try found.overlays(lane, in: nil)
      if let bad = differ("the list of overlays \(words)", mine.map(\.path), overlays.map(\.path)) {
        return bad
      }
      if let bad = differ(
        "the list of overlaid documents \(words)", try found.overlaidPaths(lane, in: nil),
        mine.map(\.path))
      {
        return bad
      }
      var known = Set(overlays.map(\.path))
      for collection in collections {
        known.formUnion(
          try expected.documents(tree, in: collection, after: nil, limit: .max).map(\.path))
      }
      for path in known.sorted() {
        let document = try expected.document(lane, path)
        if let bad = differ("\(path) \(words)", try found.document(lane, path), document) {
          return bad
        }
      }
      for collection in Set(overlays.map(\.path.collection)) {
        let own = mine.map(\.path).filter { collection.contains($0) }
        let some = try found.overlays(lane, in: collection).map(\.path)
        let paths = try found.overlaidPaths(lane, in: collection)
        if let bad = differ("the list of overlays of \(collection) \(words)", some, own)
          ?? differ("the list of overlaid documents of \(collection) \(words)", paths, own)
        {
          return bad
        }
      }
      for query in Self.queries(indexes, collections) {
        let answer = try found.query(lane, query)
        let wanted = try expected.query(lane, query).documents
        if let bad = differ(
          "the answer \(words) to \(query.target.canonical) by \(answer.explanation.plan)",
          answer.documents.map(\.path), wanted.map(\.path)) ?? Self.differ(answer, wanted)
        {
          return bad
        }
      }
    }
    return nil
  }

  private static func differ(_ answer: DocumentAnswer, _ wanted: [Document]) -> String? {
    guard let (mine, other) = zip(answer.documents, wanted).first(where: { $0 != $1 }) else {
      return nil
    }
    return "the answer by \(answer.explanation.plan) has \(mine), not \(other)"
  }

  /// Queries of each collection: one that no index serves, and one for each index.
  private static func queries(
    _ indexes: [DocumentIndex], _ collections: [CollectionPath]
  ) -> [DocumentQuery] {
    var queries = collections.map { DocumentQuery(.collection($0), in: SeededRandom.database) }
    for index in indexes {
      let sources: [DocumentQuery.Source] =
        index.scope == .group
        ? [.group(index.collectionID)]
        : collections.filter { $0.id.utf8.elementsEqual(index.collectionID.utf8) }
          .map { .collection($0) }
      for source in sources { queries.append(query(source, index)) }
    }
    return queries
  }

  /// A query that an index serves.
  private static func query(_ source: DocumentQuery.Source, _ index: DocumentIndex) -> DocumentQuery
  {
    index.fields.reduce(DocumentQuery(source, in: SeededRandom.database)) { query, field in
      let next =
        switch field.kind {
        case .ascending: try? query.ordered(by: field.path, .ascending)
        case .descending: try? query.ordered(by: field.path, .descending)
        case .contains:
          try? query.filtered(.field(FieldFilter(field.path, .arrayContains, .integer(1))))
        }
      return next ?? query
    }
  }
}
