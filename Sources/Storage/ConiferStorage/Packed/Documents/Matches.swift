public import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// The documents that tracked queries match, stored in the rows in which other trees store keys of children.
extension QueryEditor {
  func setMatches(_ id: QueryID, _ paths: [DocumentPath]) throws(StoreError) {
    let rows = MatchRows(queries, id, try known(id))
    var wanted: Set<Bytes> = []
    for path in paths { wanted.insert(try rows.row(path)) }
    for row in try tx.keys(Spaces.queryKeys, prefix: rows.prefix) where !wanted.contains(row) {
      try tx.delete(Spaces.queryKeys, row)
    }
    try add(paths, rows)
  }

  func updateMatches(
    _ id: QueryID, added: [DocumentPath], removed: [DocumentPath]
  ) throws(StoreError) {
    let rows = MatchRows(queries, id, try known(id))
    var misplaced: Set<DocumentPath> = []
    for path in removed {
      guard let row = rows.find(path) else {
        misplaced.insert(path)
        continue
      }
      try tx.delete(Spaces.queryKeys, row)
    }
    if !misplaced.isEmpty { try remove(misplaced, from: id) }
    try add(added, rows)
  }

  /// Removes rows of documents that the query cannot match; they could not be removed otherwise.
  private func remove(_ paths: Set<DocumentPath>, from id: QueryID) throws(StoreError) {
    for (row, path) in try queries.matchRows(id) where paths.contains(path) {
      try tx.delete(Spaces.queryKeys, row)
    }
  }

  private func add(_ paths: [DocumentPath], _ rows: MatchRows) throws(StoreError) {
    guard !paths.isEmpty else { return }
    // Nothing is looked up where nothing is stored, as when a query is new.
    let isFirst = try tx.keys(Spaces.queryKeys, prefix: rows.prefix, limit: 1).isEmpty
    for path in paths {
      let (row, payload) = (try rows.row(path), Bytes(path.description.utf8))
      if isFirst {
        try tx.putNew(Spaces.queryKeys, row, payload: payload)
      } else {
        try tx.put(Spaces.queryKeys, row, payload: payload)
      }
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

/// The rows of the documents that one query matches.
struct MatchRows {
  let id: QueryID
  /// What all of them begin with.
  let prefix: Bytes
  /// The path key of what the query reads.
  private let place: Bytes
  private let group: Bytes?

  init(_ queries: Queries, _ id: QueryID, _ query: TrackedQuery) {
    self.id = id
    prefix = queries.key(id)
    place = PathKey.encode(query.path, queries.order)
    group = query.group.map { Bytes($0.utf8) }
  }

  /// The row of a document: the part of its path key after the query's.
  ///
  /// - Throws: `invalid` when the document is not of the query's collection or group.
  func row(_ document: DocumentPath) throws(StoreError) -> Bytes {
    guard let row = find(document) else {
      throw StoreError(
        .invalid,
        "\(document) is not in what query \(id.rawValue) reads: give documents of its collection or "
          + "group.")
    }
    return row
  }

  /// The row of a document, or nil when it is not of the query's collection or group.
  func find(_ document: DocumentPath) -> Bytes? {
    let key = DocumentKey.encode(document)
    guard key.starts(with: place) else { return nil }
    if let group, !document.collection.id.utf8.elementsEqual(group) { return nil }
    return Queries.row(prefix, key[place.count...])
  }
}

extension Queries {
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
  ///   - isComplete: whether all that it matches was received.
  ///   - lastUse: the last use, on the engine's counter.
  ///   - resumeToken: opaque bytes with which the server resumes the listen.
  public init(
    _ lane: Lane, _ target: DocumentTarget, isComplete: Bool = false, lastUse: UInt64 = 0,
    resumeToken: [UInt8] = []
  ) {
    self.init(
      tree: lane.tree, path: DocumentKey.treePath(target.source),
      parameters: Self.parameters(lane, target), isComplete: isComplete, lastUse: lastUse,
      resumeToken: resumeToken)
  }

  /// Whether the query reads the collection or group of a document.
  package func mayMatch(_ document: DocumentPath) -> Bool {
    guard path.count == 0 else { return path.contains(DocumentKey.treePath(document)) }
    return group.map { document.collection.id.utf8.elementsEqual($0.utf8) } ?? true
  }

  /// Whether all documents that the query reads are of a source.
  package func isWithin(_ source: DocumentQuery.Source) -> Bool {
    guard let collection = path.first.flatMap({ DocumentKey.collection($0.string) }) else {
      guard path.count == 0, case .group(let id) = source else { return false }
      return group.map { $0.utf8.elementsEqual(id.utf8) } ?? false
    }
    return switch source {
    case .collection(let own): own == collection
    case .group(let id): collection.id.utf8.elementsEqual(id.utf8)
    case .document(let document): DocumentKey.document(path) == document
    }
  }

  /// The id of the group of collections that the query reads; nil for one that reads all below its path. A group with an id
  /// that no collection can have reads all documents; one with a bundle's documents has such an id.
  fileprivate var group: String? {
    guard path.count == 0, let zero = parameters.utf8.firstIndex(of: 0),
      let group = DocumentTarget.group(ofCanonical: parameters[zero...].dropFirst()),
      !group.utf8.contains(UInt8(ascii: "/"))
    else { return nil }
    return group
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
