public import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// The documents that tracked queries match, stored in the rows in which other trees store keys of children.
extension QueryEditor {
  func setMatches(_ id: QueryID, _ paths: [DocumentPath]) throws(StoreError) {
    let query = try known(id)
    var wanted: Set<Bytes> = []
    for path in paths { wanted.insert(try queries.matchRow(id, path, of: query)) }
    for row in try tx.keys(Spaces.queryKeys, prefix: queries.key(id)) where !wanted.contains(row) {
      try tx.delete(Spaces.queryKeys, row)
    }
    try add(id, paths, of: query)
  }

  func updateMatches(
    _ id: QueryID, added: [DocumentPath], removed: [DocumentPath]
  ) throws(StoreError) {
    let query = try known(id)
    var misplaced: Set<DocumentPath> = []
    for path in removed {
      guard queries.isPlaced(path, in: query) else {
        misplaced.insert(path)
        continue
      }
      try tx.delete(Spaces.queryKeys, try queries.matchRow(id, path, of: query))
    }
    if !misplaced.isEmpty { try remove(misplaced, from: id) }
    try add(id, added, of: query)
  }

  /// Removes rows of documents that the query cannot match; they could not be removed otherwise.
  private func remove(_ paths: Set<DocumentPath>, from id: QueryID) throws(StoreError) {
    for (row, path) in try queries.matchRows(id) where paths.contains(path) {
      try tx.delete(Spaces.queryKeys, row)
    }
  }

  private func add(
    _ id: QueryID, _ paths: [DocumentPath], of query: TrackedQuery
  ) throws(StoreError) {
    for path in paths {
      try tx.put(
        Spaces.queryKeys, try queries.matchRow(id, path, of: query),
        payload: Bytes(path.description.utf8))
    }
  }

  /// Refuses a version of matches that does not fit the query.
  func check(_ id: QueryID, _ version: MatchesVersion?) throws(StoreError) {
    let query = try known(id)
    guard let version else { return }
    guard ChangeLogRows.source(version.source) != nil,
      DocumentKey.treePath(version.source) == query.path
    else {
      throw StoreError(
        .invalid,
        "Query \(id.rawValue) does not read \(version.source): give the collection or group of its "
          + "target.")
    }
  }

  private func known(_ id: QueryID) throws(StoreError) -> TrackedQuery {
    guard let query = try queries.query(id) else { throw unknown(id) }
    return query
  }
}

extension Queries {
  /// The row of a document that a query matches: the part of the document's path key after the
  /// query's.
  ///
  /// - Throws: `invalid` when the document is not of the query's collection or group.
  func matchRow(
    _ id: QueryID, _ document: DocumentPath, of query: TrackedQuery
  ) throws(StoreError) -> Bytes {
    guard isPlaced(document, in: query) else {
      throw StoreError(
        .invalid,
        "\(document) is not in what query \(id.rawValue) reads: give documents of its collection or "
          + "group.")
    }
    let place = PathKey.encode(query.path, order)
    return row(id, Bytes(DocumentKey.encode(document)[place.count...]))
  }

  /// Whether a document is of a query's collection or group.
  func isPlaced(_ document: DocumentPath, in query: TrackedQuery) -> Bool {
    DocumentKey.encode(document).starts(with: PathKey.encode(query.path, order))
      && query.mayMatch(document)
  }

  /// The documents that a query matches, in their order.
  func matches(_ id: QueryID) throws(StoreError) -> [DocumentPath] {
    try matchRows(id).map(\.path).sorted()
  }

  /// The rows of the documents that a query matches.
  func matchRows(_ id: QueryID) throws(StoreError) -> [(row: Bytes, path: DocumentPath)] {
    var rows: [(row: Bytes, path: DocumentPath)] = []
    for (row, value) in try view.entries(Spaces.queryKeys, prefix: key(id)) {
      guard let payload = Record.open(Spaces.queryKeys, row, value),
        let text = String(validating: payload, as: UTF8.self), let path = try? DocumentPath(text)
      else { throw Damage.error(Spaces.queryKeys, row) }
      rows.append((row, path))
    }
    return rows
  }
}

extension TrackedQuery {
  /// The record of a query of documents that was listened to: the collection that it reads, or the root for a group of
  /// collections; its parameters are the identity and the query's canonical text.
  ///
  /// - Parameters:
  ///   - lane: the tree, and whose query it is: another user's is another query.
  ///   - target: what the server is asked.
  public init(
    _ lane: Lane, _ target: DocumentTarget, isComplete: Bool = false, lastUse: UInt64 = 0,
    resumeToken: [UInt8] = []
  ) {
    self.init(
      tree: lane.tree, path: DocumentKey.treePath(target.source),
      parameters: Self.parameters(lane, target), isComplete: isComplete, lastUse: lastUse,
      resumeToken: resumeToken)
  }

  /// Whether the query reads the collection or group of a document. A group with an id that no
  /// collection can have reads all documents; one with a bundle's documents has such an id.
  package func mayMatch(_ document: DocumentPath) -> Bool {
    guard path.count == 0 else { return path.contains(DocumentKey.treePath(document)) }
    guard let zero = parameters.utf8.firstIndex(of: 0),
      let group = DocumentTarget.group(ofCanonical: parameters[zero...].dropFirst())
    else { return true }
    return group.utf8.contains(UInt8(ascii: "/"))
      || document.collection.id.utf8.elementsEqual(group.utf8)
  }

  /// Whether the tracked query is this query of this user: it was saved for that user, or for the
  /// empty identity, which serves every user.
  package func serves(_ lane: Lane, _ target: DocumentTarget) -> Bool {
    [lane, Lane(tree: lane.tree)].contains { owner in
      let own = TrackedQuery(owner, target)
      return path == own.path && parameters.utf8.elementsEqual(own.parameters.utf8)
    }
  }

  /// The parameters that distinguish a query of documents from others at its path.
  fileprivate static func parameters(_ lane: Lane, _ target: DocumentTarget) -> String {
    lane.identity + "\0" + target.canonical
  }
}

extension Pin {
  /// A pin of a query of documents: the tracked query (`TrackedQuery(lane, target)`) and the documents that it matches are
  /// not evicted.
  ///
  /// - Parameters:
  ///   - lane: the tree, and whose query it is.
  ///   - target: what the server is asked; of a document, that document.
  public init(_ lane: Lane, _ target: DocumentTarget) {
    self.init(
      tree: lane.tree, path: DocumentKey.treePath(target.source),
      parameters: TrackedQuery.parameters(lane, target))
  }
}
