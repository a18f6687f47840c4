import ConiferDocument
import ConiferKeyValue
import ConiferStorage

// What a database holds, listed without a query.
extension DatabaseStore.DatabaseView {
  /// Collections that are looked at in one go.
  private static let window = 256

  /// A window of a collection's documents, and of the missing ones that have something below them, in the order of
  /// their ids. All collections below the collection are looked at.
  func children(
    of collection: CollectionPath, after last: DocumentPath?, limit: Int
  ) throws(StoreError) -> [Document] {
    guard let tree else { return [] }
    let found = try view.documents(tree, in: collection, after: last, limit: limit)
    var known = Set(found.lazy.map(\.path))
    // Behind the last of a full window nothing is wanted.
    let end = found.count < limit ? nil : found.last?.path
    var missing: [Document] = []
    try forEachCollection(below: "\(collection)/") { (id) throws(StoreError) in
      guard let path = DocumentPath(in: collection, id: id), known.insert(path).inserted,
        last.map({ $0 < path }) ?? true, end.map({ path < $0 }) ?? true
      else { return }
      let document = try self.document(path)
      if document.fields == nil { missing.append(document) }
    }
    return Array((found + missing).sorted { $0.path < $1.path }.prefix(limit))
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
      for collection in collections where paths.count < limit {
        paths += try view.documents(
          tree, in: collection, after: nil, limit: limit - paths.count
        ).map(\.path)
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
    // Collections are in the order of their UTF-8: those below follow the one above.
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
