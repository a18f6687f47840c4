import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Updates the rows of one tree's collections within a commit, using only the keys of documents.
final class CollectionMaintainer: LeafFollower {
  /// What is known of a collection after an edit.
  private enum Content {
    /// A document was stored last.
    case some
    /// Something was removed last.
    case unknown
  }

  private let tx: LeafTransaction
  private let tree: TreeID
  /// By the prefix of a collection's path keys.
  private var touched: [Bytes: Content] = [:]
  /// The collection that was touched last: an import stores many documents of one.
  private var last: Bytes?

  init(_ tx: LeafTransaction, _ tree: TreeID) {
    self.tx = tx
    self.tree = tree
  }

  /// Records the collections that have documents in `low ..< high` before or after the change.
  func willReplace(
    _ low: Bytes, _ high: Bytes, with new: EntryList, in editor: RunEditor
  ) throws(StoreError) {
    if let collection = collection(of: low), high.starts(with: collection) {
      touched[collection] = .unknown
    } else {
      var at = low
      while bytesPrecede(at, high) {
        var cursor = LeafCursor(EditedRuns(editor), at, high)
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

  /// The prefix of the path keys of the collection to which a path key belongs.
  private func collection(of key: Bytes) -> Bytes? {
    if let last, key.starts(with: last) { return last }
    last = DocumentKey.collection(of: key)
    return last
  }

  /// Writes and removes rows according to the current documents.
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

  /// Whether a collection has documents. True if they cannot be read; mending corrects the row
  /// then.
  private func isThere(_ key: Bytes, _ editor: RunEditor) throws(StoreError) -> Bool {
    try undamaged { () throws(StoreError) in
      var cursor = LeafCursor(EditedRuns(editor), key, key + [PathKey.endMark])
      return try cursor.first()
    } ?? true
  }
}
