import ConiferDocument
import ConiferKeyValue
import ConiferStorage

/// Posts in a backend's tree of documents.
final class StoredPosts: DocumentEngine {
  private let backend: any DocumentBackend
  private let tree: TreeID
  private let collection: CollectionPath
  private let (author, created, score): (FieldPath, FieldPath, FieldPath)

  private var lane: Lane { Lane(tree: tree) }

  init(_ configuration: StorageConfiguration) async throws {
    (author, created, score) = (
      try FieldPath(["author"]), try FieldPath(["created"]), try FieldPath(["score"])
    )
    collection = try CollectionPath("posts")
    backend = try configuration.open().keepingDocuments()
    tree = try await backend.tree(named: "bench", order: .documents)
  }

  /// Declares the indexes of a new store.
  func declareIndexes() async throws {
    let indexes = try [author, created].map { try DocumentIndex("posts", [.init($0)]) }
    try await backend.commit([.documents(tree, [.setIndexes(indexes)])])
    while true {
      let isReady = try backend.readDocuments { (view) throws(StoreError) in
        try view.documentIndexes(tree).allSatisfy { $0.state == .ready }
      }
      if isReady { return }
      _ = try await backend.tidy(.milliseconds(50))
    }
  }

  private func commit(_ edits: [StorageEdit]) throws {
    _ = try backend.commitAndWait(edits, backend.traits.durability)
  }

  func load(_ posts: ArraySlice<Post>) throws {
    try commit([.documents(tree, posts.map { .put($0.document) })])
  }

  /// Stores posts as those of a group, in five collections.
  func loadGroup(_ posts: ArraySlice<Post>) throws {
    let edits = try posts.enumerated().map { number, post in
      let path = try DocumentPath("archives/a\(number % 5)/notes/n\(number)")
      return DocumentEdit.put(
        Document(
          path, post.document.state, version: post.document.version,
          readTime: post.document.readTime))
    }
    try commit([.documents(tree, edits)])
  }

  /// The posts of the group.
  func askGroup() throws -> FoundPosts {
    try found(DocumentQuery(.group("notes"), in: SamplePosts.database))
  }

  private func query(_ question: PostQuestion) throws -> DocumentQuery {
    let all = DocumentQuery(.collection(collection), in: SamplePosts.database)
    switch question {
    case .author(let name): return try all.filtered(.field(author, .equal, .string(name)))
    case .time(let time, let limit):
      return try all.ordered(by: created)
        .starting(at: [.timestamp(try Timestamp(microseconds: time * 1000))]).limited(to: limit)
    case .score(let least):
      return try all.filtered(.field(score, .greaterThanOrEqual, .integer(least)))
    }
  }

  func ask(_ question: PostQuestion) throws -> FoundPosts { try found(query(question)) }

  private func found(_ query: DocumentQuery) throws -> FoundPosts {
    let answer = try backend.readDocuments { (view) throws(StoreError) in
      try view.query(lane, query)
    }
    var found = FoundPosts()
    for document in answer.documents where document.fields?.count == 8 {
      found.add(document.path.id.utf8)
    }
    return found
  }

  func liveBytes() throws -> Int? { try backend.size().live }

  func indexBytes() throws -> Int? {
    try backend.readDocuments { (view) throws(StoreError) in
      try view.documentIndexes(tree).reduce(0) { $0 + $1.bytes }
    }
  }

  func reclaim() async throws {
    while try await backend.tidy(.milliseconds(100)) {}
  }

  func close() async throws { try await backend.close() }

  // MARK: Listening and writing

  /// Queues writes, one a document, to ten documents in each of other collections.
  func queue(_ count: Int) throws {
    let time = try Timestamp(seconds: 1_714_103_200)
    for start in stride(from: 0, to: count, by: 500) {
      try commit(
        (start..<min(start + 500, count)).map { number in
          let path = try DocumentPath("rooms/r\(number / 10)/messages/m\(number % 10)")
          let write = try Mutation.merge(
            path,
            [
              ("text", .value(.string("message \(number)"))), ("read", .value(true)),
              ("likes", .increment(1)),
            ], in: SamplePosts.database)
          let batch = MutationBatch([write], written: time) { Document($0, .unseen) }
          return .enqueue(lane, batch.payload)
        })
    }
  }

  /// Listens to the posts of so many authors.
  func track(_ count: Int, _ posts: [Post]) throws {
    var paths: [DocumentValue: [DocumentPath]] = [:]
    for post in posts {
      guard let author = post.document.fields?["author"] else { continue }
      paths[author, default: []].append(post.document.path)
    }
    for number in 0..<count {
      let author = SamplePosts.author(number)
      let query = TrackedQuery(
        lane, try query(.author(author)).target, isComplete: true, lastUse: UInt64(number),
        resumeToken: Array("token of \(author)".utf8))
      let receipt = try backend.commitAndWait([.saveQuery(query)], .process)
      guard let id = receipt.queries.first else { continue }
      try commit([.documents(tree, [.setMatches(id, paths[.string(author)] ?? [])])])
    }
  }
}
