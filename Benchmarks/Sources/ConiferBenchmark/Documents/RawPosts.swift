import CPeers
import ConiferDocument

/// Posts in raw SQLite or LMDB, the JSON of one a row.
final class RawPosts: DocumentEngine {
  private let store: PeerStore
  private let isSQLite: Bool
  private let collection: CollectionPath
  /// Whether documents are made of the rows that are found.
  private let makesDocuments: Bool

  init(
    _ kind: peer_kind, _ directory: String, _ level: peer_durability, makesDocuments: Bool
  ) throws {
    store = try PeerStore(kind, directory, level)
    isSQLite = kind == PEER_SQLITE_DOCUMENTS
    collection = try CollectionPath("posts")
    self.makesDocuments = makesDocuments
  }

  func load(_ posts: ArraySlice<Post>) throws {
    var batch = RowBatch()
    for post in posts {
      let path = post.document.path.description
      batch.put(isSQLite ? Array(path.utf8) : RowKey.of(RowKey.data, path), post.json)
      guard !isSQLite, case .string(let author)? = post.document.fields?["author"],
        case .timestamp(let time)? = post.document.fields?["created"]
      else { continue }
      // SQLite keeps its indexes itself.
      batch.put(authorKey(author) + Array(path.utf8), [])
      batch.put(timeKey(time.microseconds / 1000) + Array(path.utf8), [])
    }
    try store.commit(batch)
  }

  private func authorKey(_ author: String) -> [UInt8] {
    RowKey.of(RowKey.index, "author/\(author)/")
  }

  private func timeKey(_ time: Int64) -> [UInt8] {
    RowKey.of(RowKey.index, "created/") + RowKey.number(UInt64(time))
  }

  // MARK: Asking

  /// The rows that are found, taken as they come.
  private final class Answer {
    var found = FoundPosts()
    var documents: [Document] = []
    /// The least score of a row that counts.
    var leastScore: Int64?
    let collection: CollectionPath
    let makesDocuments: Bool
    let skipped: Int

    init(_ collection: CollectionPath, makesDocuments: Bool, skipping skipped: Int) {
      self.collection = collection
      self.makesDocuments = makesDocuments
      self.skipped = skipped
    }

    static let visit: peer_visit = { context, key, keyCount, value, valueCount in
      guard let context else { return false }
      Unmanaged<Answer>.fromOpaque(context).takeUnretainedValue().add(
        UnsafeBufferPointer(start: key, count: keyCount),
        UnsafeBufferPointer(start: value, count: valueCount))
      return true
    }

    private func add(_ key: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
      let id = UnsafeBufferPointer(rebasing: key[min(skipped, key.count)...])
      guard makesDocuments || leastScore != nil else { return found.add(id) }
      var reader = DocumentJSONReader(value)
      guard let fields = reader.fields(), fields.count == 8 else { return }
      if let leastScore {
        guard case .integer(let score)? = fields["score"], score >= leastScore else { return }
      }
      guard let path = try? collection.document(String(decoding: id, as: UTF8.self)) else {
        return
      }
      documents.append(Document(path, .found(fields)))
      if leastScore == nil { found.add(id) }
    }

    /// By score, then by id.
    func sort() {
      func score(_ document: Document) -> Int64 {
        guard case .integer(let score)? = document.fields?["score"] else { return 0 }
        return score
      }
      documents.sort {
        score($0) == score($1) ? $0.path < $1.path : score($0) < score($1)
      }
      for document in documents { found.add(document.path.id.utf8) }
    }
  }

  func ask(_ question: PostQuestion) throws -> FoundPosts {
    let skipped = "posts/".utf8.count + (isSQLite ? 0 : 2)
    let answer = Answer(collection, makesDocuments: makesDocuments, skipping: skipped)
    let context = Unmanaged.passUnretained(answer).toOpaque()
    guard !isSQLite else {
      switch question {
      case .author(let author):
        try store.ask(PEER_BY_AUTHOR, author, 0, limit: -1, Answer.visit, context)
      case .time(let time, let limit):
        try store.ask(PEER_BY_TIME, "", time, limit: limit, Answer.visit, context)
      case .score(let least):
        try store.ask(PEER_BY_SCORE, "", least, limit: -1, Answer.visit, context)
      }
      return answer.found
    }
    switch question {
    case .author(let author):
      let from = authorKey(author)
      try read(from, Array(from.dropLast()) + [2], skipping: from.count, .max, answer)
    case .time(let time, let limit):
      let (from, all) = (timeKey(time), RowKey.of(RowKey.index, "created/"))
      try read(from, Array(all.dropLast()) + [2], skipping: from.count, limit, answer)
    case .score(let least):
      let all = RowKey.below(RowKey.data, "posts")
      answer.leastScore = least
      try store.scan(all.from, all.to, backwards: false, Answer.visit, context)
      answer.sort()
    }
    return answer.found
  }

  /// Names of rows that an index holds.
  private final class Names {
    var names: [String] = []
    let skipped: Int
    let most: Int

    init(skipping skipped: Int, _ most: Int) {
      self.skipped = skipped
      self.most = most
    }

    static let visit: peer_visit = { context, key, keyCount, _, _ in
      guard let context else { return false }
      let names = Unmanaged<Names>.fromOpaque(context).takeUnretainedValue()
      let key = UnsafeBufferPointer(start: key, count: keyCount)
      names.names.append(
        String(
          decoding: UnsafeBufferPointer(rebasing: key[min(names.skipped, keyCount)...]),
          as: UTF8.self))
      return names.names.count < names.most
    }
  }

  private func read(
    _ from: [UInt8], _ to: [UInt8], skipping skipped: Int, _ most: Int, _ answer: Answer
  ) throws {
    let names = Names(skipping: skipped, most)
    try store.scan(
      from, to, backwards: false, Names.visit, Unmanaged.passUnretained(names).toOpaque())
    let context = Unmanaged.passUnretained(answer).toOpaque()
    for name in names.names {
      _ = try store.get(RowKey.of(RowKey.data, name), Answer.visit, context)
    }
  }

  func liveBytes() throws -> Int? { store.liveBytes }
  func reclaim() async throws { try store.compact() }
  func close() async throws { store.close() }
}
