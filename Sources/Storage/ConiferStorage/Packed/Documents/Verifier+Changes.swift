import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

extension Verifier {
  /// The rows of a tree from which queries are answered by their matches.
  private struct Changes {
    var versions: [QueryID: MatchesVersion] = [:]
    var newest: Timestamp?
    /// The rows of versions by source, and of documents.
    var rows: Set<Bytes> = []
  }

  /// Checks that versions of matches have their rows, and that documents which were read later are
  /// listed.
  func checkChanges() throws(StoreError) {
    var changes: [TreeID: Changes] = [:]
    try scan(Spaces.changes) { (key, value) throws(StoreError) in
      let tree = StoreKey.tree(key)
      guard trees[tree]?.order == .documents else { throw Damage.error(Spaces.changes, key) }
      switch try ChangeLogRows(view: snapshot, tree: tree).row(key, value) {
      case .newest(let time): changes[tree, default: Changes()].newest = time
      case .version(let id, let version): changes[tree, default: Changes()].versions[id] = version
      case .place, .change: changes[tree, default: Changes()].rows.insert(key)
      }
    }
    for (tree, found) in changes where !damaged.contains(tree) { try compare(tree, found) }
  }

  private func compare(_ tree: TreeID, _ changes: Changes) throws(StoreError) {
    let rows = ChangeLogRows(view: snapshot, tree: tree)
    let queries = Queries(view: snapshot, tree: tree, order: .documents)
    var wanted: [Bytes: String] = [:]
    var least: [Bytes: Timestamp] = [:]
    for (id, version) in changes.versions {
      guard let source = ChangeLogRows.source(version.source) else { continue }
      wanted[rows.sourceVersionKey(id, source, version.time)] =
        "the version of query \(id.rawValue)"
      least[source] = min(least[source] ?? version.time, version.time)
      if try queries.query(id) == nil {
        found(.orphan, Spaces.changes, rows.versionKey(id), "its query is not there")
      }
    }
    let reader = DocumentReader(runs: RunReader(view: snapshot, tree: tree))
    var newest = Timestamp(unchecked: Timestamp.range.lowerBound, 0)
    let isRead: Void? = try reading(Spaces.runs, StoreKey.prefix(tree)) { () throws(StoreError) in
      try reader.forEachReadTime(from: [], to: [PathKey.endMark]) { key, time in
        newest = max(newest, time)
        guard let path = DocumentKey.document(key) else { return }
        for source in ChangeLogRows.sources(of: path) {
          guard let first = least[source], time > first else { continue }
          wanted[rows.changeKey(path, source, time)] = "\(path), which was read later,"
        }
      }
    }
    guard isRead != nil else { return }
    for (key, what) in wanted.sorted(by: { bytesPrecede($0.key, $1.key) })
    where !changes.rows.contains(key) {
      found(.missing, Spaces.changes, key, "\(what) has no row")
    }
    for key in changes.rows.filter({ wanted[$0] == nil }).sorted(by: bytesPrecede) {
      found(.orphan, Spaces.changes, key, "no query needs the row")
    }
    if !changes.versions.isEmpty, changes.newest.map({ $0 < newest }) ?? true {
      found(
        .number, Spaces.changes, rows.newestKey,
        "a document was read later than the store says of all")
    }
  }
}
