import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferTree
import ConiferWire

/// Loads documents in the REST form into a tree, in flat memory and in commits of some hundreds.
struct DocumentImporter {
  /// The most documents of one commit, and about the most bytes.
  private static let most = (documents: 500, bytes: 4 << 20)

  let database: DatabaseID
  /// What documents have that tell no time of their own.
  let now: Timestamp
  private var stream: DocumentStream

  /// Reads from an open file or pipe.
  init(_ descriptor: Int32, _ database: DatabaseID, now: Timestamp) {
    self.database = database
    self.now = now
    stream = DocumentStream(descriptor)
  }

  var bytesRead: Int { stream.bytesRead }

  /// The next document as a store keeps it; nil behind the last one.
  ///
  /// - Throws: `JSONError` with the place for what is no JSON, or no document that the service takes.
  mutating func next() throws -> Document? {
    guard let read = try stream.next() else { return nil }
    do throws(DocumentError) {
      guard let name = read.name else {
        throw DocumentError(
          .invalidPath, "A document has no name. Write \(database)/documents/PATH as its name.")
      }
      guard name.database == database else {
        throw DocumentError(
          .invalidPath,
          "\(name) is of \(name.database), and this is \(database). Import it with --tree "
            + "'\(name.database)', or with --database '\(name.database)' into this tree.")
      }
      let fields = read.fields.fields.map { ($0.name, WriteValue.value($0.value)) }
      let version = read.updateTime ?? now
      return try Mutation.set(name.path, fields, in: database)
        .applied(to: Document(name.path, .unseen), written: now)
        .told(version: version, readTime: max(version, now), createTime: read.createTime)
    } catch {
      let path = read.name.map { "\($0.path): " } ?? ""
      throw JSONError(
        code: .invalidTree, line: read.line, column: read.column, message: path + error.message,
        cause: error)
    }
  }

  /// Reads all, and stores nothing.
  mutating func check(_ progress: (Int) -> Void) throws {
    while try next() != nil { progress(bytesRead) }
  }

  /// Stores all; what was committed survives power loss at the end.
  ///
  /// - Parameters:
  ///   - progress: gets how many bytes were read and how many documents are stored, after each commit.
  /// - Returns: how many documents there were.
  mutating func load(
    _ opened: OpenDocumentTree, _ progress: (_ bytes: Int, _ documents: Int) throws -> Void
  ) async throws -> Int {
    var count = 0
    var edits: [DocumentEdit] = []
    var size = 0
    var last: CommitID?
    func commit() async throws {
      guard !edits.isEmpty else { return }
      let receipt = try await opened.store.commit([.documents(opened.tree, edits)], .process)
      last = receipt.commit
      count += edits.count
      edits.removeAll(keepingCapacity: true)
      size = 0
      try progress(bytesRead, count)
    }
    while let document = try next() {
      edits.append(.put(document))
      size += document.path.size + (document.fields?.size ?? 0)
      if edits.count >= Self.most.documents || size >= Self.most.bytes { try await commit() }
    }
    try await commit()
    if let last { try await opened.backend.harden(last) }
    return count
  }
}

extension Document {
  /// The same document as the server tells it.
  fileprivate func told(
    version: Timestamp, readTime: Timestamp, createTime: Timestamp?
  ) -> Document {
    Document(path, state, version: version, readTime: readTime, createTime: createTime)
  }
}
