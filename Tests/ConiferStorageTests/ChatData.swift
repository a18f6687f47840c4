import ConiferKeyValue
import ConiferTree
import TestSupport

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Generated chats that are large enough for a dictionary; the same for the same seed.
struct ChatData {
  private var random: Seeded
  private var words: [String] = []

  /// A chat in a vocabulary of its own.
  init(seed: UInt64, words count: Int = 120) {
    random = Seeded(seed)
    for _ in 0..<count { words.append(word(3 + below(8))) }
  }

  private mutating func below(_ bound: Int) -> Int {
    Int(random.next() % UInt64(bound))
  }

  private mutating func word(_ length: Int) -> String {
    let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
    return String((0..<length).map { _ in letters[below(letters.count)] })
  }

  /// Rooms of messages, about 130 bytes each before compression.
  mutating func rooms(_ count: Int, messages: Int = 200) -> Node {
    Node(
      children: (0..<count).map { room in
        let list = (0..<messages).map { index -> (Key, Node) in
          let text = (0..<(4 + below(20))).map { _ in words[below(words.count)] }
          let message: Node = [
            "author": Node(.string("user \(words[below(9)])")),
            "text": Node(.string(text.joined(separator: " "))),
            "ts": Node(.integer(1_700_000_000_000 + Int64(index) * 60_000 + Int64(below(60_000)))),
          ]
          return (Key("m\(10_000 + index)"), message)
        }
        return (Key("room\(100 + room)"), Node(children: list))
      })
  }

  /// Rooms whose texts do not repeat.
  mutating func noise(_ count: Int) -> Node {
    Node(
      children: (0..<count).map { index in
        (Key("n\(10_000 + index)"), Node(.string(word(800))))
      })
  }
}

extension PackedBackend {
  /// Tidies until nothing is left to do.
  func tidyAll() async throws {
    while try await tidy(.seconds(2)) {}
  }

  func node(_ tree: TreeID, _ path: Path = .root) throws -> Node {
    try read { (view) throws(StoreError) in try view.node(tree, path) }
  }

  func usage(_ tree: TreeID?) throws -> StorageUsage {
    try read { (view) throws(StoreError) in try view.usage(tree) }
  }
}

extension MemoryStore {
  /// How many runs of a tree name each dictionary; 0 for none.
  func namedByRuns(_ tree: TreeID) throws -> [UInt32: Int] {
    var named: [UInt32: Int] = [:]
    for (key, value) in try view().entries(Spaces.runs, prefix: StoreKey.prefix(tree)) {
      named[try RunHead(storeKey: key, value: value).dictionary, default: 0] += 1
    }
    return named
  }

  /// The numbers of a tree's stored dictionaries.
  func dictionaries(_ tree: TreeID) throws -> [UInt32] {
    try view().keys(Spaces.dictionaries, prefix: StoreKey.prefix(tree)).map {
      DictionaryRecord.number($0)
    }
  }

  /// Removes a record behind the backend's back.
  func remove(_ space: Space, _ key: Bytes) throws {
    var batch = Batch()
    batch.delete(space, key)
    _ = try apply(batch, .relaxed)
  }
}
