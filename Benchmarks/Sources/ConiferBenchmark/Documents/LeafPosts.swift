import ConiferDocument
import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferTree

/// Posts in a backend's tree of nodes, each field a leaf: what documents would be without a tree of their own.
final class LeafPosts: DocumentEngine {
  private static let collection: Path = "posts"
  private let backend: any StorageBackend
  private let tree: TreeID

  init(_ configuration: StorageConfiguration) async throws {
    backend = try configuration.open()
    tree = try await backend.tree(named: "bench", order: .realtimeDatabase)
  }

  /// Declares the indexes of a new store.
  func declareIndexes() async throws {
    let indexes = try ["author", "created"].map { field in
      try IndexDefinition(Self.collection, [.init(.child(Path(field)))])
    }
    try await backend.commit([.setIndexes(tree, indexes)])
    while true {
      let isReady = try backend.read { (view) throws(StoreError) in
        try view.indexes(tree).allSatisfy { $0.state == .ready }
      }
      if isReady { return }
      _ = try await backend.tidy(.milliseconds(50))
    }
  }

  func load(_ posts: ArraySlice<Post>) throws {
    let edits = posts.map { post in
      StorageEdit.overwrite(
        tree, Self.collection.appending(Key(post.document.path.id)),
        Self.node(.map(post.document.fields ?? .empty)))
    }
    _ = try backend.commitAndWait(edits, backend.traits.durability)
  }

  private static func node(_ value: DocumentValue) -> Node {
    switch value {
    case .boolean(let flag): return Node(.bool(flag))
    case .integer(let number): return Node(.integer(number))
    case .double(let number): return Node(.double(number))
    case .timestamp(let time): return Node(.integer(time.microseconds / 1000))
    case .string(let text): return Node(.string(text))
    case .array(let elements):
      return Node(
        children: elements.enumerated().map { (Key("\($0.offset)"), node($0.element)) })
    case .map(let map): return Node(children: map.fields.map { (Key($0.name), node($0.value)) })
    default: return .empty
    }
  }

  func ask(_ question: PostQuestion) throws -> FoundPosts {
    let spec: QuerySpec
    switch question {
    case .author(let name):
      spec = try QuerySpec.default.ordered(byChild: "author").starting(at: .string(name))
        .ending(at: .string(name))
    case .time(let time, let limit):
      spec = try QuerySpec.default.ordered(byChild: "created").starting(at: .integer(time))
        .limited(toFirst: limit)
    case .score(let least):
      spec = try QuerySpec.default.ordered(byChild: "score").starting(at: .integer(least))
    }
    let answer = try backend.read { (view) throws(StoreError) in
      try view.query(tree, Self.collection, spec)
    }
    var found = FoundPosts()
    for child in answer.children where child.node.looked > 0 { found.add(child.key.string.utf8) }
    return found
  }

  func liveBytes() throws -> Int? { try backend.size().live }

  func reclaim() async throws {
    while try await backend.tidy(.milliseconds(100)) {}
  }

  func close() async throws { try await backend.close() }
}
