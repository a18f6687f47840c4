import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Keeps the rows of one tree's indexes of documents in step with the edits of a commit.
///
/// Before a document's first change its rows are recorded; they change once the edits are done.
final class DocumentIndexKeeper: LeafFollower {
  private struct Index {
    /// The path key up to which the rows are complete; nil when all are.
    let position: Bytes?
    let rows: DocumentIndexRows

    /// The rows of a document: none where the build has not come yet, which will write them.
    func rows(_ document: Document, at key: Bytes) -> [IndexRow] {
      if let position, !bytesPrecede(key, position) { return [] }
      return rows.rows(document)
    }
  }

  private let indexes: [Index]
  private let rows: IndexRows
  /// By path key: the rows of a document before it changed.
  private var before: [Bytes: [IndexRow]] = [:]

  init(_ tx: LeafTransaction, _ tree: TreeID, _ set: IndexSet) {
    rows = IndexRows(tx: tx)
    indexes = set.indexes.compactMap { index in
      guard case .documents(let rows, _) = RowPlan(index, tree) else { return nil }
      return Index(position: index.position, rows: rows)
    }
  }

  /// Records the rows of the documents in `low ..< high` before they are replaced.
  func willReplace(
    _ low: Bytes, _ high: Bytes, with new: EntryList, in editor: RunEditor
  ) throws(StoreError) {
    try DocumentReader(runs: editor).forEach(from: low, to: high) {
      (document) throws(StoreError) in
      let key = DocumentKey.encode(document.path)
      if before[key] == nil { before[key] = rows(document, at: key) }
      return true
    }
    for entry in new.lowerBound(low)..<new.lowerBound(high) {
      let key = new.key(entry)
      if before[key] == nil { before[key] = [] }
    }
  }

  private func rows(_ document: Document, at key: Bytes) -> [IndexRow] {
    indexes.flatMap { $0.rows(document, at: key) }
  }

  /// Writes the rows that follow from the documents as they are now.
  func flush(_ editor: RunEditor) throws(StoreError) {
    let changed = before.sorted { bytesPrecede($0.key, $1.key) }
    before = [:]
    for (key, old) in changed {
      var new: [IndexRow] = []
      try DocumentReader(runs: editor).forEach(from: key, to: key + [0]) {
        (document) throws(StoreError) in
        new = rows(document, at: key)
        return true
      }
      let (removed, added) = (Set(old).subtracting(new), Set(new).subtracting(old))
      for row in old where removed.contains(row) { try rows.remove(row) }
      for row in new where added.contains(row) { try rows.add(row) }
    }
  }
}
