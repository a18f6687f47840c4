/// The path of a collection, which is an odd number of segments, such as `rooms` or
/// `rooms/eros/messages`.
///
/// Equality is by UTF-8 bytes; the order goes segment by segment, numeric ids first.
public struct CollectionPath: Sendable, Hashable, Comparable, CustomStringConvertible {
  let path: ResourcePath

  init(unchecked path: ResourcePath) { self.path = path }

  /// The path of a text.
  ///
  /// - Parameter text: segments with slashes between them, with or without one at either end.
  /// - Throws: `invalidPath` when a segment is empty or their number is even.
  public init(_ text: String) throws(DocumentError) {
    path = try ResourcePath(parsing: text)
    guard path.count % 2 == 1 else {
      throw DocumentError(
        .invalidPath,
        "'\(text)' has \(path.count) segments, as a document has. The path of a collection has an "
          + "odd number.")
    }
  }

  /// The collection's id: the last segment.
  public var id: String { path.last }

  /// The document that the collection is below; none for one at the root.
  public var parent: DocumentPath? { path.parent.map(DocumentPath.init(unchecked:)) }

  /// A document of the collection.
  ///
  /// - Parameter id: the document's id, or a path below the collection that ends at a document.
  /// - Throws: `invalidPath` when a segment is empty or the path ends at a collection.
  public func document(_ id: String) throws(DocumentError) -> DocumentPath {
    try DocumentPath(path.text + "/" + ResourcePath(parsing: id).text)
  }

  /// Whether a document is in the collection itself, not below it.
  public func contains(_ document: DocumentPath) -> Bool { path.isParent(of: document.path) }

  /// Orders segment by segment.
  public static func < (a: CollectionPath, b: CollectionPath) -> Bool {
    ResourcePath.compare(a.path, b.path) < 0
  }

  /// The segments with slashes between them.
  public var description: String { path.text }
}
