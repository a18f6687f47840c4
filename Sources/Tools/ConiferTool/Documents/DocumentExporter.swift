import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferTree
import ConiferWire

/// Writes the documents of a tree in the REST form, reading them in pieces.
struct DocumentExporter {
  /// What documents are written as.
  enum Form {
    /// One document a line.
    case lines
    /// One JSON array.
    case array
  }

  private static let windowSize = 1 << 20

  let view: any DocumentView
  let tree: TreeID
  let database: DatabaseID
  let form: Form
  let sink: ([UInt8]) throws -> Void
  private var buffer: [UInt8] = []
  /// How many documents were written, and how many left out whose fields are not known.
  private(set) var written = 0
  private(set) var unknown = 0

  init(
    _ view: any DocumentView, _ opened: OpenDocumentTree, _ form: Form,
    sink: @escaping ([UInt8]) throws -> Void
  ) {
    self.view = view
    tree = opened.tree
    database = opened.database
    self.form = form
    self.sink = sink
  }

  /// Writes the documents of a collection and of those below it, or all.
  mutating func export(_ root: CollectionPath?) throws {
    if form == .array { buffer += Array("[".utf8) }
    var last: CollectionPath?
    while true {
      let collections = try view.collections(tree, after: last, limit: 256)
      for collection in collections where root.map(collection.isAt) ?? true {
        try write(collection)
      }
      guard let end = collections.last else { break }
      last = end
    }
    buffer += Array((form == .array ? "\n]\n" : "").utf8)
    try sink(buffer)
    buffer = []
  }

  private mutating func write(_ collection: CollectionPath) throws {
    var last: DocumentPath?
    var count = 32
    while true {
      let documents = try view.documents(tree, in: collection, after: last, limit: count)
      for document in documents { try write(document) }
      guard documents.count == count, let end = documents.last?.path else { return }
      last = end
      // Documents may be a hundred bytes or a megabyte.
      let size = documents.reduce(0) { $0 + $1.path.size + ($1.fields?.size ?? 0) }
      count = size < Self.windowSize / 2 ? min(count * 2, 4096) : max(1, count / 2)
    }
  }

  private mutating func write(_ document: Document) throws {
    guard document.fields != nil else {
      if document.state == .unknown { unknown += 1 }
      return
    }
    var writer = JSONWriter()
    writer.document(document, in: database)
    if form == .array { buffer += Array((written == 0 ? "\n" : ",\n").utf8) }
    buffer += writer.bytes
    if form == .lines { buffer.append(UInt8(ascii: "\n")) }
    written += 1
    guard buffer.count >= 64 << 10 else { return }
    try sink(buffer)
    buffer.removeAll(keepingCapacity: true)
  }
}

extension CollectionPath {
  /// Whether this is a collection, or one below its documents.
  func isAt(_ root: CollectionPath) -> Bool {
    let (own, other) = (description.utf8, root.description.utf8)
    return own.starts(with: other)
      && (own.count == other.count || own.dropFirst(other.count).first == UInt8(ascii: "/"))
  }
}
