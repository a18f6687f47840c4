import ConiferDocument

/// Documents of eight fields that a seed makes, the same on every machine: posts with ids as the service makes them.
struct SamplePosts: Sendable {
  /// The database that the posts are in.
  static let database = DatabaseID(project: "bench")
  /// Posts of each author.
  static let ofAuthor = 50
  /// Scores are below this.
  static let scores = 1000
  private static let firstTime: Int64 = 1_704_103_200_000

  let collection: CollectionPath
  /// The posts in the order of their ids.
  let documents: [Document]

  /// - Parameter count: how many; each author has 50 of them.
  init(count: Int, seed: UInt64) throws {
    var random = Random(seed: seed)
    let vocabulary = Vocabulary(seed: seed)
    collection = try CollectionPath("posts")
    let ids = (0..<count).map { _ in Self.id(&random) }.sorted()
    let authors = (0..<count).map { $0 / Self.ofAuthor }.shuffled(using: &random)
    let times = Array(0..<count).shuffled(using: &random)
    var documents: [Document] = []
    for number in 0..<count {
      documents.append(
        Document(
          try collection.document(ids[number]),
          .found(
            try Self.fields(authors[number], Int64(times[number]), vocabulary, &random)),
          version: try Timestamp(seconds: 1_704_103_200 + Int64(times[number])),
          readTime: try Timestamp(seconds: 1_714_103_200)))
    }
    self.documents = documents
  }

  /// How many authors there are.
  var authors: Int { documents.count / Self.ofAuthor }

  static func author(_ number: Int) -> String { "user-\(number)" }

  /// The time in milliseconds of the post that so many posts are older than.
  static func time(_ number: Int) -> Int64 { firstTime + Int64(number) * 61_000 }

  /// Twenty letters and digits.
  private static func id(_ random: inout Random) -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
    return String((0..<20).map { _ in letters[random.below(letters.count)] })
  }

  private static func fields(
    _ author: Int, _ time: Int64, _ vocabulary: Vocabulary, _ random: inout Random
  ) throws -> MapValue {
    let time = Self.time(Int(time))
    let words = vocabulary.text(&random).split(separator: " ").map(String.init)
    let place: MapValue = [
      "city": .string(words[0]), "floor": .integer(Int64(random.below(9))),
      "latitude": .double(Double(random.below(1_800_000)) / 10_000 - 90),
    ]
    return [
      "author": .string(Self.author(author)),
      "created": .timestamp(try Timestamp(microseconds: time * 1000)),
      "done": .boolean(random.below(3) > 0),
      "place": .map(place),
      "rating": .double(Double(random.below(50)) / 10),
      "score": .integer(Int64(random.below(scores))),
      "tags": .array(words.suffix(random.below(4)).map { .string($0) }),
      "title": .string(words.joined(separator: " ")),
    ]
  }
}
