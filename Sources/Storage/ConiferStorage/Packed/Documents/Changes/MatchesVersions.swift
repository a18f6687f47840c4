import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Changes, within a commit, the times as of which the matches of tracked queries are complete.
struct MatchesVersions {
  let tx: LeafTransaction
  let tree: TreeID

  private var rows: ChangeLogRows { ChangeLogRows(view: tx, tree: tree) }

  /// Stores a version, if it can be told from now on which documents were read later; forgets the query's version
  /// otherwise. The commit's documents are written before.
  ///
  /// Rows of documents begin at the least version of a source. An earlier version, and a source's first one, are taken
  /// only when no document was read later.
  func set(_ id: QueryID, _ version: MatchesVersion) throws(StoreError) {
    guard let source = ChangeLogRows.source(version.source), try isUsable(version, source) else {
      return try forget(id)
    }
    let old = try rows.version(id)
    try tx.put(Spaces.changes, rows.versionKey(id), payload: ChangeLogRows.payload(version))
    try tx.put(Spaces.changes, rows.sourceVersionKey(id, source, version.time), payload: [])
    if let old, old != version { try leave(old, id) }
    try clear(source)
  }

  private func isUsable(_ version: MatchesVersion, _ source: Bytes) throws(StoreError) -> Bool {
    if let least = try rows.least(source), least <= version.time { return true }
    // Where documents cannot be read nothing is known of them.
    guard let newest = try undamaged({ () throws(StoreError) in try newest() }) else {
      return false
    }
    return newest <= version.time
  }

  /// The time that no document was read after: known since a version was stored for the first time, when all were
  /// looked at.
  private func newest() throws(StoreError) -> Timestamp {
    if let known = try rows.newest() { return known }
    var newest = Timestamp(unchecked: Timestamp.range.lowerBound, 0)
    let reader = DocumentReader(runs: RunReader(view: tx, tree: tree))
    try reader.forEachReadTime(from: [], to: [PathKey.endMark]) { newest = max(newest, $1) }
    try tx.put(Spaces.changes, rows.newestKey, payload: ChangeLogRows.payload(newest: newest))
    return newest
  }

  /// Forgets the version of a query: it looks at all documents until its matches are complete
  /// again.
  func forget(_ id: QueryID) throws(StoreError) {
    guard let old = try rows.version(id) else { return }
    try tx.delete(Spaces.changes, rows.versionKey(id))
    try leave(old, id)
  }

  private func leave(_ version: MatchesVersion, _ id: QueryID) throws(StoreError) {
    guard let source = ChangeLogRows.source(version.source) else { return }
    try tx.delete(Spaces.changes, rows.sourceVersionKey(id, source, version.time))
    try clear(source)
  }

  /// Forgets the versions of all queries of the tree, and what was read later than these.
  func forgetAll() throws(StoreError) {
    try tx.deleteAll(Spaces.changes, prefix: StoreKey.prefix(tree))
  }

  /// Removes the rows of a source that no query needs any more.
  private func clear(_ source: Bytes) throws(StoreError) {
    let least = try rows.least(source)
    while true {
      let some = try rows.behind(least, of: source)
      for key in some { try tx.delete(Spaces.changes, key) }
      if some.isEmpty { return }
    }
  }
}

/// Takes the versions of matches that the edits of one commit say, once its documents are written.
struct MatchesVersionKeeper {
  private enum Change {
    case set(MatchesVersion)
    /// A document that was read before the version may match no more by the server's word, and still as it is stored.
    case forget
  }

  private var changes: [TreeID: [QueryID: Change]] = [:]

  mutating func didSet(_ version: MatchesVersion?, _ id: QueryID, in tree: TreeID) {
    changes[tree, default: [:]][id] = version.map { .set($0) } ?? .forget
  }

  mutating func didRemoveMatches(_ id: QueryID, in tree: TreeID) {
    changes[tree, default: [:]][id] = .forget
  }

  mutating func didRemove(_ id: QueryID, in tree: TreeID) { changes[tree]?[id] = nil }

  mutating func didWipe(_ tree: TreeID) { changes[tree] = nil }

  mutating func finish(_ tx: LeafTransaction) throws(StoreError) {
    for (tree, queries) in changes.sorted(by: { $0.key < $1.key }) {
      let versions = MatchesVersions(tx: tx, tree: tree)
      // First those that are set: rows that the others needed may serve them.
      for case (let id, .set(let version)) in queries.sorted(by: { $0.key < $1.key }) {
        try versions.set(id, version)
      }
      for case (let id, .forget) in queries.sorted(by: { $0.key < $1.key }) {
        try versions.forget(id)
      }
    }
    changes = [:]
  }
}
