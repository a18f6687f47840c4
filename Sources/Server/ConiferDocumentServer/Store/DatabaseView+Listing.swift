import ConiferDocument
import ConiferKeyValue
import ConiferStorage

/// How much of a list is wanted.
struct PageSize: Sendable {
  /// How many documents at most.
  let documents: Int
  /// After about how many bytes of documents no more are wanted, but one.
  let bytes: Int
}

// What a database holds, listed without a query.
extension DatabaseStore.DatabaseView {
  /// Collections that are looked at in one go.
  private static let window = 256
  /// Documents that are read in one go, before it is known how large they are.
  private static let slice = 8

  /// The first documents of a query, as many as are wanted, or some more than about so many bytes.
  ///
  /// - Throws: `tooLarge` when there is no room for them.
  func first(
    _ size: PageSize, of query: DocumentQuery, in share: ReadShare?
  ) throws(StoreError) -> [Document] {
    try some(size) { (last, limit) throws(StoreError) in
      let window: DocumentQuery
      do throws(DocumentError) {
        let rest = if let last { try query.starting(after: last) } else { query }
        window = try rest.limited(to: limit)
      } catch { throw StoreError(.invalid, error.message) }
      return try documents(window, in: share)
    }.found
  }

  /// A window of a collection's documents, and of the missing ones that have something below them, in the order of
  /// their ids. All collections below the collection are looked at.
  ///
  /// - Throws: `tooLarge` when there is no room for them.
  func children(
    of collection: CollectionPath, after last: DocumentPath?, _ size: PageSize,
    in share: ReadShare?
  ) throws(StoreError) -> [Document] {
    guard let tree else { return [] }
    let (found, isAll) = try some(size) { (end, limit) throws(StoreError) in
      let some = try view.documents(tree, in: collection, after: end?.path ?? last, limit: limit)
      guard let share, !share.claim(some.reduce(0) { $0 + $1.memory }) else { return some }
      throw ReadAllowance.exceeded
    }
    var known = Set(found.lazy.map(\.path))
    // After the last document of a full window nothing is needed.
    let end = isAll ? nil : found.last?.path
    var missing: [Document] = []
    try forEachCollection(below: "\(collection)/") { (id) throws(StoreError) in
      guard let path = DocumentPath(in: collection, id: id), known.insert(path).inserted,
        last.map({ $0 < path }) ?? true, end.map({ path < $0 }) ?? true
      else { return }
      let document = try self.document(path)
      if document.fields == nil { missing.append(document) }
    }
    return Array((found + missing).sorted { $0.path < $1.path }.prefix(size.documents))
  }

  /// Reads small windows of documents, larger ones while the documents are small, until there are enough.
  ///
  /// - Parameter read: reads so many at most, from behind a document.
  /// - Returns: what was found, and whether nothing follows.
  private func some(
    _ size: PageSize, _ read: (Document?, Int) throws(StoreError) -> [Document]
  ) throws(StoreError) -> (found: [Document], isAll: Bool) {
    var found: [Document] = []
    var bytes = 0
    var limit = min(size.documents, Self.slice)
    while limit > 0 {
      let some = try read(found.last, limit)
      found += some
      if some.count < limit { return (found, true) }
      bytes += some.reduce(0) { $0 + ($1.fields?.size ?? 0) }
      let isFull = bytes - (found.last?.fields?.size ?? 0) >= size.bytes
      let fitting = max(1, size.bytes - bytes) / max(1, bytes / found.count) + 1
      limit = isFull ? 0 : min(size.documents - found.count, fitting)
    }
    return (found, false)
  }

  /// A window of the ids of the collections at the root, or directly below a document, in the order of their UTF-8.
  func collectionIDs(
    below parent: DocumentPath?, after last: String?, limit: Int
  ) throws(StoreError) -> [String] {
    var ids: Set<[UInt8]> = []
    try forEachCollection(below: parent.map { "\($0)/" } ?? "") { ids.insert(Array($0.utf8)) }
    let after = last.map { Array($0.utf8) }
    return ids.filter { id in after.map { $0.lexicographicallyPrecedes(id) } ?? true }
      .sorted { $0.lexicographicallyPrecedes($1) }.prefix(limit)
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// The first documents of the database, in the order of the store.
  func first(_ limit: Int) throws(StoreError) -> [DocumentPath] {
    guard let tree else { return [] }
    var paths: [DocumentPath] = []
    var last: CollectionPath?
    while paths.count < limit {
      let collections = try view.collections(tree, after: last, limit: Self.window)
      guard let end = collections.last else { break }
      for collection in collections {
        var after: DocumentPath?
        while paths.count < limit {
          let some = try view.documents(
            tree, in: collection, after: after, limit: min(Self.slice, limit - paths.count)
          ).map(\.path)
          paths += some
          if some.isEmpty { break }
          after = some.last
        }
      }
      last = end
    }
    return paths
  }

  /// Visits the next segment of each collection whose path begins with a text, which is empty or ends in a slash.
  private func forEachCollection(
    below prefix: String, _ visit: (String) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard let tree else { return }
    // Collections are sorted by their UTF-8 bytes, so those below a collection follow it.
    var last = prefix.isEmpty ? nil : try? CollectionPath(Self.start(of: prefix))
    while true {
      let collections = try view.collections(tree, after: last, limit: Self.window)
      for collection in collections {
        let text = collection.description.utf8
        guard text.starts(with: prefix.utf8) else {
          if prefix.utf8.lexicographicallyPrecedes(text) { return }
          continue
        }
        let rest = text.dropFirst(prefix.utf8.count)
        try visit(String(decoding: rest.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self))
      }
      guard let end = collections.last else { return }
      last = end
    }
  }

  /// The path of a collection that comes before all that begin with a text: the text without its slash, and below a
  /// document one with the least id.
  private static func start(of prefix: String) -> String {
    let count = prefix.utf8.count { $0 == UInt8(ascii: "/") }
    return count.isMultiple(of: 2) ? prefix + "\u{0}" : prefix
  }
}
