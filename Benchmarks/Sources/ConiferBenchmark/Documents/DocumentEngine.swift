import ConiferDocument

/// What is asked of the posts.
enum PostQuestion: Sendable {
  /// All posts of an author, in the order of their ids: the author is indexed.
  case author(String)
  /// So many posts from a time on, in milliseconds, by their times: these are indexed.
  case time(Int64, limit: Int)
  /// All posts with a score at least so high, by it: scores are not indexed.
  case score(Int64)
}

/// Documents that were found, comparable between engines.
struct FoundPosts: Hashable, Sendable {
  private(set) var count = 0
  private var sum: UInt64 = 0

  /// Adds the id of the next one; the order counts.
  mutating func add(_ id: some Sequence<UInt8>) {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in id { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    sum = sum &* 31 &+ hash
    count += 1
  }
}

/// An open store of posts.
protocol DocumentEngine: AnyObject, Sendable {
  /// Stores posts in one commit; blocks until it is done.
  func load(_ posts: ArraySlice<Post>) throws
  /// The documents that are found, each made as an app needs it.
  func ask(_ question: PostQuestion) throws -> FoundPosts
  /// Bytes of live pages, when the engine knows them.
  func liveBytes() throws -> Int?
  /// Bytes of the keys and values of the indexes' rows, when the engine knows them.
  func indexBytes() throws -> Int?
  /// Gives space back to the system, as the engine does it.
  func reclaim() async throws
  func close() async throws
}

extension DocumentEngine {
  func indexBytes() throws -> Int? { nil }
}

/// A document in the forms that engines take.
struct Post: Sendable {
  let document: Document
  let json: [UInt8]

  init(_ document: Document) {
    self.document = document
    json = DocumentJSON.bytes(document.fields ?? .empty)
  }
}
