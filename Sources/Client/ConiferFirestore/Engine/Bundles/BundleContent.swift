import ConiferDocument
import ConiferWire

/// The content of a bundle as far as it was read. It is large, and so cannot be copied.
struct BundleContent: ~Copyable {
  let metadata: BundleElement.Metadata
  /// The documents, each once.
  private(set) var documents: [DocumentPath: Document] = [:]
  /// The documents that named queries give, by the bytes of their names.
  private var matches: [[UInt8]: Set<DocumentPath>] = [:]
  private(set) var queries: [BundleElement.NamedQuery] = []
  /// The bytes of these queries' names.
  private var names: Set<[UInt8]> = []
  private var reader: BundleReader
  private let database: DatabaseID
  private let latest: ConiferDocument.Timestamp
  /// Where the elements after the first one begin.
  private let start: Int
  /// The metadata of the document that follows.
  private var next: BundleElement.DocumentMetadata?
  private var documentCount = 0

  /// Begins to read a bundle.
  ///
  /// - Parameter latest: the latest time that the bundle may have. Documents with a later time
  ///   would not be replaced by what the server says.
  /// - Throws: `invalidArgument` when the bytes begin as no bundle does.
  init(
    of bytes: [UInt8], in database: DatabaseID, before latest: ConiferDocument.Timestamp
  ) throws(StatusError) {
    var reader = BundleReader(bytes)
    guard case .metadata(let metadata)? = try reader.next() else {
      throw StatusError(
        .invalidArgument, "A bundle begins with its metadata. Load one that the server made.")
    }
    try Self.check(metadata.createTime, before: latest)
    self.metadata = metadata
    self.database = database
    self.latest = latest
    start = reader.position
    self.reader = reader
  }

  /// Reads on, up to behind the next document.
  ///
  /// - Returns: how far that is; nil at the end.
  /// - Throws: `invalidArgument` for what is no bundle, or one of another database.
  mutating func readNext() throws(StatusError) -> BundleProgress? {
    while let element = try reader.next() {
      switch element {
      case .metadata:
        throw StatusError(.invalidArgument, "A bundle has one metadata element, at its beginning.")
      case .namedQuery(let query):
        try check(query.query.database)
        try Self.check(query.readTime, before: latest)
        guard names.insert(Array(query.name.utf8)).inserted else {
          throw StatusError(
            .invalidArgument,
            "The bundle has two queries of the name \(query.name). Load one that the server made.")
        }
        queries.append(query)
      case .documentMetadata(let document):
        try check(document.name.database)
        try Self.check(document.readTime, before: latest)
        for name in document.queries {
          matches[Array(name.utf8), default: []].insert(document.name.path)
        }
        next = document
        guard !document.exists else { continue }
        return add(
          Document(
            document.name.path, .missing, version: document.readTime, readTime: document.readTime))
      case .document(let name, let fields, let updateTime):
        guard let next, next.exists, next.name == name else {
          throw StatusError(
            .invalidArgument, "The bundle's document \(name.path) has no metadata before it.")
        }
        guard updateTime <= next.readTime else {
          throw StatusError(
            .invalidArgument,
            "The bundle's document \(name.path) was changed at \(updateTime), after it was read.")
        }
        return add(
          Document(name.path, .found(fields), version: updateTime, readTime: next.readTime))
      }
    }
    guard documentCount == metadata.documents else {
      throw StatusError(
        .invalidArgument,
        "The bundle has \(documentCount) of its \(metadata.documents) documents. Load all of it.")
    }
    for query in queries { try checkMatches(of: query) }
    return nil
  }

  /// The documents that a named query gives, in their order.
  func matches(of query: BundleElement.NamedQuery) -> [DocumentPath] {
    matches[Array(query.name.utf8)]?.sorted() ?? []
  }

  private func checkMatches(of query: BundleElement.NamedQuery) throws(StatusError) {
    let source = query.query.source
    let matches = matches[Array(query.name.utf8)] ?? []
    guard let path = matches.first(where: { !source.contains($0) }) else { return }
    throw StatusError(
      .invalidArgument,
      "The bundle's query \(query.name) gives \(path), which is not where it looks. Load a bundle that "
        + "the server made.")
  }

  private mutating func add(_ document: Document) -> BundleProgress {
    documents[document.path] = document
    next = nil
    documentCount += 1
    return metadata.progress(documentCount, reader.position - start)
  }

  private static func check(
    _ time: ConiferDocument.Timestamp, before latest: ConiferDocument.Timestamp
  ) throws(StatusError) {
    guard time <= latest else {
      throw StatusError(
        .invalidArgument,
        "The bundle is of \(time), far ahead of the device's clock. Set the clock right.")
    }
  }

  private func check(_ database: DatabaseID) throws(StatusError) {
    guard database == self.database else {
      throw StatusError(
        .invalidArgument,
        "The bundle is of \(database), and this is \(self.database). Load a bundle of this database."
      )
    }
  }
}

extension BundleElement.Metadata {
  /// The progress after so many documents and bytes of the bundle.
  func progress(_ documents: Int, _ bytes: Int) -> BundleProgress {
    BundleProgress(
      documents: documents, totalDocuments: self.documents, bytes: bytes, totalBytes: self.bytes)
  }

  /// The progress at the end: all was taken in and is stored.
  var done: BundleProgress {
    BundleProgress(
      documents: documents, totalDocuments: documents, bytes: bytes, totalBytes: bytes, isDone: true
    )
  }
}
