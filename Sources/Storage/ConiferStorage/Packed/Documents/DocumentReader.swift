import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Reads what the server said of documents, from a snapshot or from a commit with its edits so far.
struct DocumentReader<Runs: RunSource> {
  let runs: Runs
  /// Counts the runs that are read, if it is set.
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
    var keys = DocumentKeyReader()
    try walk(low, high, isReversed) { (cursor) throws(StoreError) in
      try visit(try document(at: cursor, &keys))
    }
  }

  /// Visits what is stored in a range of path keys; documents that do not pass a sieve are visited
  /// as nil.
  func forEach(
    from low: Bytes, to high: Bytes, isReversed: Bool = false, through sieve: DocumentSieve,
    _ visit: (Document?) throws(StoreError) -> Bool
  ) throws(StoreError) {
    var keys = DocumentKeyReader()
    try walk(low, high, isReversed) { (cursor) throws(StoreError) in
      let found = try withValue(at: cursor) { value -> SieveResult? in
        guard let passes = sieve.passes(value, { path(at: cursor, &keys) }) else { return nil }
        guard passes else { return .outside }
        return path(at: cursor, &keys).flatMap { DocumentRecord.decode($0, value) }.map {
          .found($0)
        }
      }
      switch found {
      case .found(let document): return try visit(document)
      case .outside: return try visit(nil)
      case nil: throw try unreadable(at: cursor)
      }
    }
  }

  /// The result of a sieve for a document.
  private enum SieveResult {
    case found(Document)
    case outside
  }

  private func walk(
    _ low: Bytes, _ high: Bytes, _ isReversed: Bool,
    _ visit: (LeafCursor<Runs>) throws(StoreError) -> Bool
  ) throws(StoreError) {
    var cursor = LeafCursor(runs, low, high, meter)
    var isAtDocument = try isReversed ? cursor.last() : cursor.first()
    while isAtDocument, try visit(cursor) {
      isAtDocument = try isReversed ? cursor.previous() : cursor.next()
    }
  }

  private func path(
    at cursor: LeafCursor<Runs>, _ keys: inout DocumentKeyReader
  ) -> DocumentPath? {
    cursor.entries.withKey(cursor.index) { keys.document($0) }
  }

  private func document(
    at cursor: LeafCursor<Runs>, _ keys: inout DocumentKeyReader
  ) throws(StoreError) -> Document {
    guard let path = path(at: cursor, &keys) else { throw cursor.damage }
    return try document(path, at: cursor)
  }

  /// The document that a cursor is at.
  func document(
    _ path: DocumentPath, at cursor: LeafCursor<Runs>
  ) throws(StoreError) -> Document {
    guard let document = try withValue(at: cursor, { DocumentRecord.decode(path, $0) }) else {
      throw try unreadable(at: cursor)
    }
    return document
  }

  /// Lends the value of a document, also of one that is stored in chunks; nil when the closure
  /// returns nil.
  func withValue<R>(
    at cursor: LeafCursor<Runs>, _ body: (UnsafeRawBufferPointer) -> R?
  ) throws(StoreError) -> R? {
    try runs.reader.withDocument(
      cursor.index, of: cursor.entries, in: cursor.run?.storeKey ?? [], body)
  }

  /// The error for a document whose value cannot be decoded.
  private func unreadable(at cursor: LeafCursor<Runs>) throws(StoreError) -> StoreError {
    try runs.reader.unreadable(
      cursor.index, of: cursor.entries, in: cursor.run?.storeKey ?? [])
  }

  /// Visits when the documents in a range of path keys were read, without decoding their fields.
  func forEachReadTime(
    from low: Bytes, to high: Bytes, _ visit: (_ key: Bytes, _ time: Timestamp) -> Void
  ) throws(StoreError) {
    var cursor = LeafCursor(runs, low, high, meter)
    var isAtDocument = try cursor.first()
    while isAtDocument {
      guard let time = try withValue(at: cursor, { DocumentRecord.readTime($0) }) else {
        throw try unreadable(at: cursor)
      }
      visit(cursor.key, time)
      isAtDocument = try cursor.next()
    }
  }

  // MARK: Collections

  /// A window of the collections of which something is stored, as the leaves have them.
  ///
  /// - Parameter start: the prefix of the path keys of a collection's documents, or a key behind these.
  func collections(from start: Bytes, limit: Int) throws(StoreError) -> [CollectionPath] {
    var found: [CollectionPath] = []
    var at = start
    while found.count < limit {
      var cursor = LeafCursor(runs, at, [PathKey.endMark], meter)
      guard try cursor.first() else { break }
      guard let path = DocumentKey.document(cursor.key) else { throw cursor.damage }
      found.append(path.collection)
      at = DocumentKey.encode(path.collection) + [PathKey.endMark]
    }
    return found
  }

  /// Visits all collections of which something is stored, as the leaves have them.
  func forEachCollection(_ visit: (CollectionPath) -> Void) throws(StoreError) {
    var at: Bytes = []
    while true {
      let some = try collections(from: at, limit: 256)
      some.forEach(visit)
      guard let last = some.last else { return }
      at = DocumentKey.encode(last) + [PathKey.endMark]
    }
  }

  /// Whether something of a collection is stored.
  func isThere(_ collection: CollectionPath) throws(StoreError) -> Bool {
    let key = DocumentKey.encode(collection)
    var cursor = LeafCursor(runs, key, key + [PathKey.endMark], meter)
    return try cursor.first()
  }

  /// Visits the collections with an id, in the order of path keys, until the closure returns false.
  ///
  /// - Parameters:
  ///   - start: as in `collections(from:limit:)`.
  ///   - most: about how many collections are looked at, whatever their ids.
  ///   - visit: gets a collection, and what begins the path keys of its documents.
  /// - Returns: the start to go on from when so many were looked at; nil at the end, and when the closure returned false.
  @discardableResult
  func forEachCollection(
    withID id: String, from start: Bytes = [], most: Int = .max,
    _ visit: (CollectionPath, Bytes) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bytes? {
    // Rows may be missing until a tree is mended.
    let isWhole = try !MendingMarker.isThere(runs.reader.view, runs.reader.tree)
    let rows = CollectionRows(view: runs.reader.view, tree: runs.reader.tree)
    var at = start
    var looked = 0
    while true {
      if looked >= most { return at }
      let some =
        try isWhole ? rows.collections(withID: id, from: at) : collections(from: at, limit: 256)
      for collection in some {
        let key = DocumentKey.encode(collection)
        at = key + [PathKey.endMark]
        if collection.id.utf8.elementsEqual(id.utf8), try !visit(collection, key) { return nil }
      }
      if some.isEmpty { return nil }
      looked += some.count
    }
  }
}

extension RunReader {
  /// Lends the value of a document, also of one that is stored in chunks; nil when the closure
  /// returns nil.
  ///
  /// - Parameter storeKey: the key of the run that the entries are of.
  func withDocument<R>(
    _ index: Int, of entries: EntryList, in storeKey: Bytes,
    _ body: (UnsafeRawBufferPointer) -> R?
  ) throws(StoreError) -> R? {
    guard entries.isLargeLeaf(index) else { return entries.withValue(index, body) }
    guard let reference = LargeLeafReference(entries[index].value) else { return nil }
    let value = try largeLeaf(reference, in: storeKey)
    return value.withUnsafeBytes(body)
  }

  /// The error for a document whose value cannot be decoded: a later version wrote it, or it is
  /// damaged.
  func unreadable(
    _ index: Int, of entries: EntryList, in storeKey: Bytes
  ) throws(StoreError) -> StoreError {
    let isNewer = try withDocument(index, of: entries, in: storeKey) { DocumentRecord.isNewer($0) }
    return isNewer == true ? DocumentRecord.newerFormat : Damage.error(Spaces.runs, storeKey)
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
  /// Whether a document that is stored in chunks can be read.
  ///
  /// - Parameter run: the store's key of its run.
  /// - Throws: `damaged` naming the run when a part is damaged.
  func readability(
    ofLarge entry: Entry, in run: Bytes
  ) throws(StoreError) -> DocumentRecord.Readability {
    guard let path = DocumentKey.document(entry.key),
      let reference = LargeLeafReference(entry.value)
    else { return .damaged }
    return try largeLeaf(reference, in: run).withUnsafeBytes {
      DocumentRecord.readability(path, $0)
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
