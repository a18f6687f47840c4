/// The service's limits on documents, writes and queries, such as 1 MiB a document. A write beyond
/// a limit is refused before it is queued.
public enum DocumentLimits {
  /// Bytes of a document, as the service counts them: 1 MiB.
  public static let documentSize = 1 << 20
  /// Bytes of a string or bytes: 1 MiB less 89.
  public static let valueSize = 1 << 20 - 89
  /// Levels of maps and arrays within each other.
  public static let depth = 20
  /// UTF-8 bytes of an id or of a field's name, and of the names on the way to a field together.
  public static let nameSize = 1500
  /// UTF-8 bytes of a document's path: 6 KiB.
  public static let pathSize = 6 << 10
  /// Collections below each other.
  public static let collectionDepth = 100
  /// Numbers of a vector.
  public static let vectorCount = 2048
  /// Transforms of one write.
  public static let transforms = 500
  /// Bytes of one request to the service, such as a batch of writes with its data: 10 MiB.
  public static let requestSize = 10 << 20
  /// Writes of a batch or a transaction: 10,000, as the servers of this project take. The vendor's
  /// service counts only bytes.
  public static let writes = 10_000
  /// Filters and orders of a query together.
  public static let queryParts = 100
  /// Alternatives of a query, once it is a list of alternatives.
  public static let disjunctions = 30
  /// Values of a `notIn` filter.
  public static let notInValues = 10
  /// Fields that a query compares by anything but equality.
  public static let inequalityFields = 10
  /// Aggregates that are asked for at once.
  public static let aggregates = 5

  /// Whether a name has the form `__…__`, which the service keeps for itself.
  static func isReserved(_ name: some StringProtocol) -> Bool {
    let bytes = Array(name.utf8)
    return bytes.count >= 4 && bytes.starts(with: [0x5F, 0x5F])
      && bytes[(bytes.count - 2)...].elementsEqual([0x5F, 0x5F])
  }
}

extension DocumentPath {
  /// Checks that a document may be written at this path.
  ///
  /// - Throws: `invalidPath` when an id is `.` or `..`, has the form `__…__` without being a numeric
  ///   id, or is too long, or when the path is too long or too deep.
  public func validate() throws(DocumentError) {
    let segments = path.segments
    guard path.text.utf8.count <= DocumentLimits.pathSize,
      segments.count <= 2 * DocumentLimits.collectionDepth
    else {
      throw DocumentError(
        .invalidPath,
        "The path of a document has \(path.text.utf8.count) bytes and \(segments.count) segments; "
          + "\(DocumentLimits.pathSize) and \(2 * DocumentLimits.collectionDepth) are allowed. "
          + "Shorten its ids.")
    }
    for (index, segment) in segments.enumerated() {
      let kind = index % 2 == 0 ? "collection" : "document"
      guard segment.utf8.count <= DocumentLimits.nameSize else {
        throw DocumentError(
          .invalidPath,
          "The id of a \(kind) has \(segment.utf8.count) bytes; \(DocumentLimits.nameSize) are "
            + "allowed. Shorten it.")
      }
      let isNumeric = index % 2 == 1 && NumericID.number(of: segment) != nil
      if segment.utf8.elementsEqual(".".utf8) || segment.utf8.elementsEqual("..".utf8)
        || DocumentLimits.isReserved(segment) && !isNumeric
      {
        throw DocumentError(
          .invalidPath,
          "'\(segment)' cannot be the id of a \(kind): '.', '..' and '__…__' are reserved. "
            + "Choose another one.")
      }
    }
  }
}

extension Document {
  /// Checks that the document as a whole is not too large.
  ///
  /// - Throws: `documentTooLarge` above 1 MiB as the service counts it.
  public func validateSize() throws(DocumentError) {
    guard let fields else { return }
    let size = path.size + fields.size
    guard size <= DocumentLimits.documentSize else {
      throw DocumentError(
        .documentTooLarge,
        "The document \(path) would have \(size) bytes; \(DocumentLimits.documentSize) are "
          + "allowed. Spread its data over several documents.")
    }
  }
}
