import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Keeps the rows of one tree's collections in step with the edits of a commit, by the keys of documents alone.
final class CollectionKeeper: LeafFollower {
  /// What is known of a collection after an edit.
  private enum Content {
    /// A document was stored last.
    case some
    /// Something was removed last.
    case unknown
  }

  private let tx: LeafTransaction
  private let tree: TreeID
  /// By what begins the path keys of a collection.
  private var touched: [Bytes: Content] = [:]
  /// The collection that was touched last: an import stores many documents of one.
  private var last: Bytes?

  init(_ tx: LeafTransaction, _ tree: TreeID) {
    self.tx = tx
    self.tree = tree
  }

  /// Notes the collections that have something in `low ..< high` now or will have.
  func willReplace(
    _ low: Bytes, _ high: Bytes, with new: EntryList, in editor: RunEditor
  ) throws(StoreError) {
    if let collection = collection(of: low), high.starts(with: collection) {
      touched[collection] = .unknown
    } else {
      var at = low
      while bytesPrecede(at, high) {
        var cursor = LeafCursor(RunGlance(editor), at, high)
        guard try cursor.first(), let collection = collection(of: cursor.key) else { break }
        touched[collection] = .unknown
        at = collection + [PathKey.endMark]
      }
    }
    for entry in new.lowerBound(low)..<new.lowerBound(high) {
      if let collection = collection(of: new.key(entry)) { touched[collection] = .some }
    }
  }

  func willPut(
    _ index: Int, of new: EntryList, over old: Int?, of run: LoadedRun, in editor: RunEditor
  ) throws(StoreError) {
    let isKnown = new.withKey(index) { key in
      last.map { last in
        key.count >= last.count && touched[last] == .some(.some)
          && last.withUnsafeBytes {
            compareBytes(UnsafeRawBufferPointer(rebasing: key[..<last.count]), $0) == 0
          }
      } ?? false
    }
    if !isKnown, let collection = collection(of: new.key(index)) { touched[collection] = .some }
  }

  /// What begins the path keys of the collection in which a path key is.
  private func collection(of key: Bytes) -> Bytes? {
    if let last, key.starts(with: last) { return last }
    last = DocumentKey.collection(of: key)
    return last
  }

  /// Writes and removes rows as the documents are now.
  func flush(_ editor: RunEditor) throws(StoreError) {
    let changed = touched.sorted { bytesPrecede($0.key, $1.key) }
    touched = [:]
    for (key, content) in changed {
      guard let collection = DocumentKey.collection(key) else { continue }
      let isThere =
        switch content {
        case .some: true
        case .unknown: try isThere(key, editor)
        }
      try CollectionRows.set(collection, isThere: isThere, in: tree, tx)
    }
  }

  /// Whether a collection has something; where that cannot be read it may have, and mending sees to the row.
  private func isThere(_ key: Bytes, _ editor: RunEditor) throws(StoreError) -> Bool {
    try undamaged { () throws(StoreError) in
      var cursor = LeafCursor(RunGlance(editor), key, key + [PathKey.endMark])
      return try cursor.first()
    } ?? true
  }
}
