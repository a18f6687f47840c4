/// The path of a document, which is an even number of segments, such as `rooms/eros`.
///
/// Equality is by UTF-8 bytes; the order goes segment by segment, numeric ids first.
public struct DocumentPath: Sendable, Hashable, Comparable, CustomStringConvertible {
  let path: ResourcePath

  init(unchecked path: ResourcePath) { self.path = path }

  /// The path of a text.
  ///
  /// - Parameter text: segments with slashes between them, with or without one at either end.
  /// - Throws: `invalidPath` when a segment is empty or their number is odd.
  public init(_ text: String) throws(DocumentError) {
    path = try ResourcePath(parsing: text)
    guard path.count % 2 == 0 else {
      throw DocumentError(
        .invalidPath,
        "'\(text)' has \(path.count) segments, as a collection has. The path of a document has an "
          + "even number.")
    }
  }

  /// The path of a collection's text and an id, as a store holds them; nil when they make none.
  package init?(collection: String, id: String) {
    guard let collection = try? CollectionPath(collection) else { return nil }
    self.init(in: collection, id: id)
  }

  /// The path of an id in a collection; nil when it is none.
  package init?(in collection: CollectionPath, id: String) {
    guard !id.isEmpty, !id.utf8.contains(UInt8(ascii: "/")) else { return nil }
    path = collection.path.appending(id)
  }

  /// The document's id: the last segment.
  public var id: String { path.last }

  /// The collection that the document is in.
  public var collection: CollectionPath {
    CollectionPath(unchecked: path.parent ?? ResourcePath(unchecked: ""))
  }

  /// The segments from the root down.
  public var segments: [String] { path.segments.map(String.init) }

  /// A collection below the document.
  ///
  /// - Parameter id: the collection's id, or a path below the document that ends at a collection.
  /// - Throws: `invalidPath` when a segment is empty or the path ends at a document.
  public func collection(_ id: String) throws(DocumentError) -> CollectionPath {
    try CollectionPath(path.text + "/" + ResourcePath(parsing: id).text)
  }

  /// Orders two paths: negative, zero or positive.
  public static func compare(_ a: DocumentPath, _ b: DocumentPath) -> Int {
    ResourcePath.compare(a.path, b.path)
  }

  /// Orders segment by segment.
  public static func < (a: DocumentPath, b: DocumentPath) -> Bool { compare(a, b) < 0 }

  /// The segments with slashes between them.
  public var description: String { path.text }
}
