import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Updates, within a commit, the rows of documents that were read later than the version of some
/// query.
final class ChangeLogMaintainer: LeafFollower {
  /// What is known of a document that changes.
  private struct Change {
    /// The read time before the change; nil when the document was not stored.
    let before: Timestamp?
    /// The read time after the change; nil when it must be looked up.
    var now: Timestamp?
  }

  private let tx: LeafTransaction
  private let tree: TreeID
  private let rows: ChangeLogRows
  /// By path key; of documents that are stored where no query may need a row there are none.
  private var changes: [Bytes: Change] = [:]
  /// When the newest of those documents was read.
  private var newestUnfollowed: Timestamp?
  /// The collection of the document that was stored last.
  private var collection = FollowedCollection()

  init(_ tx: LeafTransaction, _ tree: TreeID) {
    self.tx = tx
    self.tree = tree
    rows = ChangeLogRows(view: tx, tree: tree)
  }

  /// Records when the documents in `low ..< high` were read before they are replaced.
  func willReplace(
    _ low: Bytes, _ high: Bytes, with new: EntryList, in editor: RunEditor
  ) throws(StoreError) {
    func note(_ key: Bytes, _ time: Timestamp?) {
      let before = changes[key].map(\.before) ?? time
      changes[key] = Change(before: before)
    }
    if low.count + 1 == high.count, high.starts(with: low) {
      // For a single document the run is loaded into the editor, since it will be changed anyway.
      try DocumentReader(runs: editor).forEachReadTime(from: low, to: high, note)
    } else {
      try DocumentReader(runs: EditedRuns(editor)).forEachReadTime(from: low, to: high, note)
    }
    for entry in new.lowerBound(low)..<new.lowerBound(high) { note(new.key(entry), nil) }
  }

  /// Records when a document was read before it is replaced.
  func willPut(
    _ index: Int, of new: EntryList, over old: Int?, of run: LoadedRun, in editor: RunEditor
  ) throws(StoreError) {
    // A document in chunks is not stored yet.
    let now = new.isLargeLeaf(index) ? nil : new.withValue(index, DocumentRecord.readTime)
    if !new.withKey(index, collection.contains) { try collection.goOn(to: new.key(index), rows) }
    if !collection.isFollowed, let now, changes.isEmpty || changes[new.key(index)] == nil {
      newestUnfollowed = max(newestUnfollowed ?? now, now)
      return
    }
    let key = new.key(index)
    if changes[key] != nil {
      changes[key]?.now = now
      return
    }
    guard let old else {
      changes[key] = Change(before: nil, now: now)
      return
    }
    let before = try editor.reader.withDocument(
      old, of: run.entries, in: run.storeKey, DocumentRecord.readTime)
    guard let before else {
      throw try editor.reader.unreadable(old, of: run.entries, in: run.storeKey)
    }
    changes[key] = Change(before: before, now: now)
  }

  /// Writes and removes rows according to the documents' current state.
  func flush(_ editor: RunEditor) throws(StoreError) {
    let changed = changes.sorted { bytesPrecede($0.key, $1.key) }
    changes = [:]
    let reader = DocumentReader(runs: EditedRuns(editor))
    var newest = newestUnfollowed
    newestUnfollowed = nil
    var collection = FollowedCollection()
    for (key, change) in changed {
      var now = change.now
      if now == nil { try reader.forEachReadTime(from: key, to: key + [0]) { now = $1 } }
      newest = [newest, now].compactMap { $0 }.max()
      if !key.withUnsafeBytes(collection.contains) { try collection.goOn(to: key, rows) }
      guard collection.isFollowed, let path = DocumentKey.document(key) else { continue }
      for source in collection.sources {
        guard let first = collection.least[source] ?? nil else { continue }
        if let old = change.before, old > first {
          try tx.delete(Spaces.changes, rows.changeKey(path, source, old))
        }
        guard let now else { continue }
        // Queries whose version is at this read time or later did not see this document.
        let seen = try rows.queries(source, from: now)
        for id in seen { try MatchesVersions(tx: tx, tree: tree).forget(id) }
        if !seen.isEmpty { try collection.lookUp(source, rows) }
        if let first = collection.least[source] ?? nil, now > first {
          try tx.put(
            Spaces.changes, rows.changeKey(path, source, now),
            payload: ChangeLogRows.changePayload(path))
        }
      }
    }
    if let newest, let known = try rows.newest(), known < newest {
      try tx.put(Spaces.changes, rows.newestKey, payload: ChangeLogRows.payload(newest: newest))
    }
  }
}

/// The sources of the documents of one collection, and the least versions of their queries.
private struct FollowedCollection {
  /// The prefix of its documents' path keys.
  private var start: Bytes?
  private(set) var sources: [Bytes] = []
  /// The lowest version of each source that was looked up, also of other collections.
  private(set) var least: [Bytes: Timestamp?] = [:]

  /// Whether a query may need a row of its documents.
  private(set) var isFollowed = false

  /// Whether a path key is one of its documents'.
  func contains(_ key: UnsafeRawBufferPointer) -> Bool {
    start.map { key.starts(with: $0) } ?? false
  }

  /// Goes on to the collection of the document of a path key.
  mutating func goOn(to key: Bytes, _ rows: ChangeLogRows) throws(StoreError) {
    start = DocumentKey.collection(of: key)
    sources = DocumentKey.document(key).map { ChangeLogRows.sources(of: $0) } ?? []
    for source in sources where least[source] == nil { try lookUp(source, rows) }
    isFollowed = sources.contains { (least[$0] ?? nil) != nil }
  }

  /// Looks up the least version of a source.
  mutating func lookUp(_ source: Bytes, _ rows: ChangeLogRows) throws(StoreError) {
    least[source] = .some(try rows.least(source))
    isFollowed = sources.contains { (least[$0] ?? nil) != nil }
  }
}
