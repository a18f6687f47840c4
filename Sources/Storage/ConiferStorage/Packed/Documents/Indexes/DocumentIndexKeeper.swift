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
    ///
    /// - Parameter start: what those of its collection begin with.
    func rows(_ document: Document, at key: Bytes, _ start: Bytes?) -> [IndexRow] {
      if let position, !bytesPrecede(key, position) { return [] }
      return rows.rows(document, start)
    }
  }

  /// The rows of a document before its first change, and after its last one.
  private struct Change {
    let before: [IndexRow]
    var after: [IndexRow] = []
  }

  private let indexes: [Index]
  private let rows: IndexRows
  /// What the indexes hold of a document.
  private let fields: FieldSelection
  /// The collection of the document that changed last, and what the rows of its documents begin with.
  private var known: (collection: CollectionPath, starts: [Bytes?])?
  private var keys = DocumentKeyReader()
  /// By path key.
  private var changes: [Bytes: Change] = [:]

  init(_ tx: LeafTransaction, _ tree: TreeID, _ set: IndexSet) {
    rows = IndexRows(tx: tx)
    indexes = set.indexes.compactMap { index in
      guard case .documents(let rows, _) = RowPlan(index, tree) else { return nil }
      return Index(position: index.position, rows: rows)
    }
    fields = FieldSelection(indexes.flatMap { $0.rows.index.fields.map(\.path) })
  }

  /// Records the rows of the documents in `low ..< high` before they are replaced, and those of what replaces them.
  func willReplace(
    _ low: Bytes, _ high: Bytes, with new: EntryList, in editor: RunEditor
  ) throws(StoreError) {
    // No build has come here: what is there need not be read, and may be what damage took.
    if indexes.allSatisfy({ $0.position.map { !bytesPrecede(low, $0) } ?? false }) { return }
    try DocumentReader(runs: editor).forEach(from: low, to: high) {
      (document) throws(StoreError) in
      let key = DocumentKey.encode(document.path)
      if changes[key] == nil {
        changes[key] = Change(before: rows(document, at: key))
      } else {
        changes[key]?.after = []
      }
      return true
    }
    for entry in new.lowerBound(low)..<new.lowerBound(high) {
      let key = new.key(entry)
      changes[key, default: Change(before: [])].after = rows(of: new, entry, key)
    }
  }

  /// The rows of a document that is being stored.
  private func rows(of list: EntryList, _ index: Int, _ key: Bytes) -> [IndexRow] {
    guard let path = key.withUnsafeBytes({ keys.document($0) }) else { return [] }
    // A large one comes with its reference.
    let document =
      if let content = list.contents[index] {
        content.withUnsafeBytes { DocumentRecord.decode(path, $0, fields) }
      } else {
        list.withValue(index) { DocumentRecord.decode(path, $0, fields) }
      }
    return document.map { rows($0, at: key) } ?? []
  }

  private func rows(_ document: Document, at key: Bytes) -> [IndexRow] {
    let collection = document.path.collection
    let starts: [Bytes?]
    if let known, known.collection == collection {
      starts = known.starts
    } else {
      starts = indexes.map { $0.rows.start(collection) }
      known = (collection, starts)
    }
    return zip(indexes, starts).flatMap { $0.rows(document, at: key, $1) }
  }

  /// Writes the rows that follow from the documents as they are now.
  func flush(_ editor: RunEditor) throws(StoreError) {
    for (_, change) in changes.sorted(by: { bytesPrecede($0.key, $1.key) }) {
      let (old, new) = (change.before, change.after)
      if old == new { continue }
      let (kept, given) = (Set(old.isEmpty ? [] : new), Set(new.isEmpty ? [] : old))
      for row in old where !kept.contains(row) { try rows.remove(row) }
      for row in new where !given.contains(row) { try rows.add(row) }
    }
    changes = [:]
  }
}
