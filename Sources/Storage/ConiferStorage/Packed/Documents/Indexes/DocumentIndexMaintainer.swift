import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Updates the rows of one tree's indexes of documents within a commit.
///
/// A document's rows are recorded before its first change, and replaced once the edits are done.
final class DocumentIndexMaintainer: LeafFollower {
  private struct Index {
    /// The path key up to which the rows are complete; nil when all are.
    let position: Bytes?
    let rows: DocumentIndexRows

    /// The rows of a document; none if the build has not reached it, since the build will write
    /// them.
    ///
    /// - Parameter start: the prefix of the rows of its collection.
    func rows(_ document: Document, at key: Bytes, _ start: Bytes?) -> [IndexRow] {
      if let position, !bytesPrecede(key, position) { return [] }
      return rows.rows(document, start)
    }
  }

  /// The rows of a document before a change, and after it.
  private struct Change {
    let key: Bytes
    var before: [IndexRow] = []
    var after: [IndexRow] = []
  }

  private let indexes: [Index]
  private let rows: IndexRows
  /// The fields of documents that the indexes hold.
  private let fields: FieldSelection
  /// The collection of the last changed document, and the prefixes of its documents' rows.
  private var known: (collection: CollectionPath, starts: [Bytes?])?
  private var keys = DocumentKeyReader()
  /// In the order in which they were made.
  private var changes: [Change] = []

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
    guard concerns(low) else { return }
    try DocumentReader(runs: editor).forEach(from: low, to: high) {
      (document) throws(StoreError) in
      let key = DocumentKey.encode(document.path)
      changes.append(Change(key: key, before: rows(document, at: key)))
      return true
    }
    for entry in new.lowerBound(low)..<new.lowerBound(high) {
      let key = new.key(entry)
      changes.append(Change(key: key, after: rows(of: new, entry, key)))
    }
  }

  /// Records the rows of a document before it is replaced, and those of what replaces it.
  func willPut(
    _ index: Int, of new: EntryList, over old: Int?, of run: LoadedRun, in editor: RunEditor
  ) throws(StoreError) {
    let key = new.key(index)
    guard concerns(key) else { return }
    var change = Change(key: key)
    if let old {
      let path = key.withUnsafeBytes { keys.document($0) }
      let document = try path.flatMap { (path) throws(StoreError) in
        try editor.reader.withDocument(old, of: run.entries, in: run.storeKey) {
          DocumentRecord.decode(path, $0, fields)
        }
      }
      guard let document else {
        throw try editor.reader.unreadable(old, of: run.entries, in: run.storeKey)
      }
      change.before = rows(document, at: key)
    }
    change.after = rows(of: new, index, key)
    changes.append(change)
  }

  /// Whether an index has reached a path key. Otherwise the document need not be read, and may be
  /// damaged.
  private func concerns(_ key: Bytes) -> Bool {
    indexes.contains { $0.position.map { bytesPrecede(key, $0) } ?? true }
  }

  /// The rows of a document that is being stored.
  private func rows(of list: EntryList, _ index: Int, _ key: Bytes) -> [IndexRow] {
    guard let path = key.withUnsafeBytes({ keys.document($0) }) else { return [] }
    // A large document is stored as a reference, with its content.
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
    let changes = sorted()
    self.changes = []
    var at = 0
    while at < changes.count {
      // For a document that changed several times, the first old rows and the last new rows count.
      let old = changes[at].before
      var last = at
      while last + 1 < changes.count, changes[last + 1].key == changes[at].key { last += 1 }
      try replace(old, by: changes[last].after)
      at = last + 1
    }
  }

  private func replace(_ old: [IndexRow], by new: [IndexRow]) throws(StoreError) {
    if old.isEmpty {
      for row in new { try rows.addNew(row) }
    } else if old != new {
      for row in Self.rows(of: old, notIn: new) { try rows.remove(row) }
      for row in Self.rows(of: new, notIn: old) { try rows.add(row) }
    }
  }

  /// So few rows that comparing each is quicker than hashing all: more come of arrays.
  private static let few = 8

  private static func rows(of some: [IndexRow], notIn others: [IndexRow]) -> [IndexRow] {
    guard others.count > few else { return some.filter { !others.contains($0) } }
    let others = Set(others)
    return some.filter { !others.contains($0) }
  }

  /// The changes by path key, those of one document as they were made.
  private func sorted() -> [Change] {
    let isSorted = zip(changes, changes.dropFirst()).allSatisfy {
      !bytesPrecede($1.key, $0.key)
    }
    if isSorted { return changes }
    return changes.indices.sorted { a, b in
      let order = compareBytes(changes[a].key, changes[b].key)
      return order == 0 ? a < b : order < 0
    }.map { changes[$0] }
  }
}
