import ConiferDocument
import ConiferKeyValue
import ConiferStorage

/// Walks all documents of a store's tree in pages, collection after collection, those below missing documents too.
///
/// Each page is read by itself: what changes meanwhile behind the last one is in a later page.
struct CopyPages: Sendable {
  /// How many documents a page has at most, which is what the service's own libraries write at once.
  static let mostDocuments = 500
  /// About how many bytes a page has, unless one document is larger.
  private static let mostBytes = 1 << 20
  /// How many documents are read before it is known how large they are.
  private static let window = 16

  private enum Place {
    case behind(CollectionPath?)
    case within(CollectionPath, after: DocumentPath?)
  }

  private var place = Place.behind(nil)

  /// The next page; empty behind the last one.
  ///
  /// - Throws: as the view's reads.
  mutating func next(
    _ view: any DocumentView, _ tree: TreeID
  ) throws(StoreError) -> [Document] {
    var page: [Document] = []
    var bytes = 0
    while page.count < Self.mostDocuments, bytes < Self.mostBytes {
      switch place {
      case .behind(let last):
        guard let next = try view.collections(tree, after: last, limit: 1).first else {
          return page
        }
        place = .within(next, after: nil)
      case .within(let collection, let last):
        let some = try view.documents(
          tree, in: collection, after: last,
          limit: min(Self.window, Self.mostDocuments - page.count))
        if some.isEmpty { place = .behind(collection) }
        for document in some where bytes < Self.mostBytes {
          place = .within(collection, after: document.path)
          guard let fields = document.fields else { continue }
          page.append(document)
          bytes += fields.size
        }
      }
    }
    return page
  }
}
