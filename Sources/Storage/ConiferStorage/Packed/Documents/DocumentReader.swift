import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Reads what the server said of documents: in a snapshot, or in a commit with the edits so far.
struct DocumentReader<Runs: RunSource> {
  let runs: Runs
  /// Counts the runs that are read; nil when nobody asks.
  var meter: ReadMeter?

  /// What is stored of a document.
  func document(_ path: DocumentPath) throws(StoreError) -> Document {
    let key = DocumentKey.encode(path)
    var cursor = LeafCursor(runs, key, key + [0], meter)
    return try cursor.first() ? document(path, at: cursor) : Document(path, .unseen)
  }

  /// Visits what is stored in a range of path keys, in their order or from the end, until the closure returns false.
  func forEach(
    from low: Bytes, to high: Bytes, isReversed: Bool = false,
    _ visit: (Document) throws(StoreError) -> Bool
  ) throws(StoreError) {
    var cursor = LeafCursor(runs, low, high, meter)
    var isAtDocument = try isReversed ? cursor.last() : cursor.first()
    while isAtDocument {
      guard let path = DocumentKey.document(cursor.key) else { throw cursor.damage }
      guard try visit(try document(path, at: cursor)) else { return }
      isAtDocument = try isReversed ? cursor.previous() : cursor.next()
    }
  }

  private func document(
    _ path: DocumentPath, at cursor: LeafCursor<Runs>
  ) throws(StoreError) -> Document {
    let entry = cursor.entries.isLargeLeaf(cursor.index) ? cursor.entries[cursor.index] : nil
    let document: Document?
    if let reference = entry.flatMap({ LargeLeafReference($0.value) }) {
      let value = try runs.reader.largeLeaf(reference, in: cursor.run?.storeKey ?? [])
      document = value.withUnsafeBytes { DocumentRecord.decode(path, $0) }
    } else {
      document = cursor.entries.withValue(cursor.index) { DocumentRecord.decode(path, $0) }
    }
    guard let document else { throw cursor.damage }
    return document
  }

  // MARK: Collections

  /// A window of the collections of which something is stored.
  func collections(
    after: CollectionPath?, limit: Int
  ) throws(StoreError) -> [CollectionPath] {
    var found: [CollectionPath] = []
    var at = after.map { DocumentKey.encode($0) + [PathKey.endMark] } ?? []
    while found.count < limit {
      var cursor = LeafCursor(runs, at, [PathKey.endMark], meter)
      guard try cursor.first() else { break }
      guard let path = DocumentKey.document(cursor.key) else { throw cursor.damage }
      found.append(path.collection)
      at = DocumentKey.encode(path.collection) + [PathKey.endMark]
    }
    return found
  }

  /// The collections with an id.
  func collections(withID id: String) throws(StoreError) -> [CollectionPath] {
    var found: [CollectionPath] = []
    var after: CollectionPath?
    while true {
      let some = try collections(after: after, limit: 256)
      found += some.filter { $0.id.utf8.elementsEqual(id.utf8) }
      guard let last = some.last else { return found }
      after = last
    }
  }
}

extension DocumentReader where Runs == RunReader {
  /// Reads a tree of documents in a snapshot.
  ///
  /// - Throws: `invalid` when the tree holds none.
  init(_ view: LeafSnapshot, _ tree: TreeID, _ meter: ReadMeter? = nil) throws(StoreError) {
    try KnownTree.info(view, tree).requireDocuments()
    self.init(runs: RunReader(view: view, tree: tree), meter: meter)
  }
}

extension RunReader {
  /// Whether an entry that is stored in chunks is a document.
  ///
  /// - Parameter run: the store's key of its run.
  /// - Throws: `damaged` naming the run when a part is damaged.
  func isSoundDocument(_ entry: Entry, in run: Bytes) throws(StoreError) -> Bool {
    guard let path = DocumentKey.document(entry.key),
      let reference = LargeLeafReference(entry.value)
    else { return false }
    return try largeLeaf(reference, in: run).withUnsafeBytes {
      DocumentRecord.decode(path, $0) != nil
    }
  }
}

extension TreeInfo {
  /// Refuses a tree that holds no documents.
  ///
  /// - Throws: `invalid`.
  func requireDocuments() throws(StoreError) {
    guard order == .documents else {
      throw StoreError(
        .invalid,
        "The tree \"\(name)\" holds nodes, not documents: make one with the key order documents.")
    }
  }
}

extension KeyOrder {
  /// Refuses a tree that holds documents.
  ///
  /// - Throws: `invalid`.
  func requireNodes() throws(StoreError) {
    guard self != .documents else {
      throw StoreError(
        .invalid,
        "The tree holds documents, not nodes: read and change it as a DocumentBackend.")
    }
  }
}
