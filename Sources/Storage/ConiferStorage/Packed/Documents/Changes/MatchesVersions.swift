import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Changes, within a commit, the versions of tracked queries' matches.
struct MatchesVersions {
  let tx: LeafTransaction
  let tree: TreeID

  private var rows: ChangeLogRows { ChangeLogRows(view: tx, tree: tree) }

  /// Stores a version if the rows can show, from now on, which documents were read later; otherwise
  /// forgets the query's version. The commit's documents must be written before.
  ///
  /// A source has rows only for documents that were read later than its lowest version. So a lower
  /// version than that, and a source's first version, are stored only when no document was read
  /// later.
  func set(_ id: QueryID, _ version: MatchesVersion) throws(StoreError) {
    guard let source = ChangeLogRows.source(version.source), try isUsable(version, source) else {
      return try forget(id)
    }
    let old = try rows.version(id)
    try tx.put(Spaces.changes, rows.versionKey(id), payload: ChangeLogRows.payload(version))
    try tx.put(Spaces.changes, rows.sourceVersionKey(id, source, version.time), payload: [])
    if let old, old != version { try removeSourceRow(old, id) }
    try clear(source)
  }

  private func isUsable(_ version: MatchesVersion, _ source: Bytes) throws(StoreError) -> Bool {
    if let least = try rows.least(source), least <= version.time { return true }
    // If documents cannot be read, their read times are not known.
    guard let newest = try undamaged({ () throws(StoreError) in try newest() }) else {
      return false
    }
    return newest <= version.time
  }

  /// The latest read time of all documents. It is stored with the first version, when all documents
  /// are read to find it.
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
    try removeSourceRow(old, id)
  }

  private func removeSourceRow(_ version: MatchesVersion, _ id: QueryID) throws(StoreError) {
    guard let source = ChangeLogRows.source(version.source) else { return }
    try tx.delete(Spaces.changes, rows.sourceVersionKey(id, source, version.time))
    try clear(source)
  }

  /// Forgets the versions of all queries of the tree, and the rows of later documents.
  func forgetAll() throws(StoreError) {
    try tx.deleteAll(Spaces.changes, prefix: StoreKey.prefix(tree))
  }

  /// Removes the rows of a source that no query needs any more.
  private func clear(_ source: Bytes) throws(StoreError) {
    let least = try rows.least(source)
    while true {
      let some = try rows.rowsUpTo(least, of: source)
      for key in some { try tx.delete(Spaces.changes, key) }
      if some.isEmpty { return }
    }
  }
}

/// Collects the versions of matches that the edits of a commit set, and stores them once its
/// documents are written.
struct MatchesVersionCollector {
  private enum Change {
    case set(MatchesVersion)
    /// Matches were removed or replaced: a document that was read before the version may no longer
    /// match for the server, although it still matches as it is stored.
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
      // Versions are set before others are forgotten, so that rows which both need are not removed.
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
