import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Keeps the rows of documents that were read later than some query's version in step with the edits of a commit.
final class ChangeKeeper: LeafFollower {
  private let tx: LeafTransaction
  private let tree: TreeID
  private let rows: ChangeRows
  /// By path key: when a document was read as it was before, nil when it was not there.
  private var before: [Bytes: Timestamp?] = [:]

  init(_ tx: LeafTransaction, _ tree: TreeID) {
    self.tx = tx
    self.tree = tree
    rows = ChangeRows(view: tx, tree: tree)
  }

  /// Records when the documents in `low ..< high` were read before they are replaced.
  func willReplace(
    _ low: Bytes, _ high: Bytes, with new: EntryList, in editor: RunEditor
  ) throws(StoreError) {
    func note(_ key: Bytes, _ time: Timestamp) {
      if before[key] == nil { before[key] = .some(time) }
    }
    if low.count + 1 == high.count, high.starts(with: low) {
      // The run of a single document is changed, and kept for it.
      try DocumentReader(runs: editor).forEachReadTime(from: low, to: high, note)
    } else {
      try DocumentReader(runs: RunGlance(editor)).forEachReadTime(from: low, to: high, note)
    }
    for entry in new.lowerBound(low)..<new.lowerBound(high) {
      let key = new.key(entry)
      if before[key] == nil { before[key] = .some(nil) }
    }
  }

  /// Records when a document was read before it is replaced.
  func willPut(
    _ index: Int, of new: EntryList, over old: Int?, of run: LoadedRun, in editor: RunEditor
  ) throws(StoreError) {
    let key = new.key(index)
    guard before[key] == nil else { return }
    guard let old else { return before[key] = .some(nil) }
    let time = try editor.reader.withDocument(
      old, of: run.entries, in: run.storeKey, DocumentRecord.readTime)
    guard let time else { throw Damage.error(Spaces.runs, run.storeKey) }
    before[key] = .some(time)
  }

  /// Writes and removes rows as the documents are now.
  func flush(_ editor: RunEditor) throws(StoreError) {
    let changed = before.sorted { bytesPrecede($0.key, $1.key) }
    before = [:]
    let reader = DocumentReader(runs: RunGlance(editor))
    var newest: Timestamp?
    var least: [Bytes: Timestamp?] = [:]
    for (key, old) in changed {
      guard let path = DocumentKey.document(key) else { continue }
      var now: Timestamp?
      try reader.forEachReadTime(from: key, to: key + [0]) { now = $1 }
      newest = [newest, now].compactMap { $0 }.max()
      for source in ChangeRows.sources(of: path) {
        if least[source] == nil { least[source] = .some(try rows.least(source)) }
        guard let first = least[source] ?? nil else { continue }
        if let old, old > first {
          try tx.delete(Spaces.changes, rows.changeKey(path, source, old))
        }
        guard let now else { continue }
        // What comes late was not seen by those whose matches were whole then.
        let seen = try rows.queries(source, from: now)
        for id in seen { try MatchesVersions(tx: tx, tree: tree).forget(id) }
        if !seen.isEmpty { least[source] = .some(try rows.least(source)) }
        if let first = least[source] ?? nil, now > first {
          try tx.put(
            Spaces.changes, rows.changeKey(path, source, now),
            payload: ChangeRows.changePayload(path))
        }
      }
    }
    if let newest, let known = try rows.newest(), known < newest {
      try tx.put(Spaces.changes, rows.newestKey, payload: ChangeRows.payload(newest: newest))
    }
  }
}
