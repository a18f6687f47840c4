import ConiferDocument

/// Documents in collections, which a seed makes: rooms of 100 messages, and one collection of many.
struct SampleRooms: Sendable {
  /// Messages of a room.
  static let messages = 100
  /// The database that they are in.
  static let database = DatabaseID(project: "bench")
  /// The path of the collection of many documents.
  static let archive = "archive"

  /// The messages of each room, in the order of their ids.
  let rooms: [[Document]]
  /// The documents of the collection of many.
  let archived: [Document]

  /// Documents.
  ///
  /// - Parameters:
  ///   - count: how many there are in rooms.
  ///   - archived: how many there are in the collection of many.
  init(count: Int, archived: Int, seed: UInt64) throws {
    let posts = try SamplePosts(count: count + archived, seed: seed).documents
    func moved(_ document: Document, _ collection: String) throws -> Document {
      Document(
        try CollectionPath(collection).document(document.path.id), document.state,
        version: document.version, readTime: document.readTime)
    }
    rooms = try stride(from: 0, to: count, by: Self.messages).map { start in
      try posts[start..<min(start + Self.messages, count)].map {
        try moved($0, Self.room(start / Self.messages))
      }
    }
    self.archived = try posts[count...].map { try moved($0, Self.archive) }
  }

  /// The path of the collection of a room's messages.
  static func room(_ number: Int) -> String { "rooms/r\(number)/messages" }

  /// All collections, each with its path.
  var collections: [(path: String, documents: [Document])] {
    rooms.enumerated().map { (Self.room($0.offset), $0.element) } + [(Self.archive, archived)]
  }

  /// The writes that make documents on a server.
  static func writes(_ documents: some Sequence<Document>) throws -> [Mutation] {
    try documents.map { document in
      let fields = document.fields ?? .empty
      return try .set(
        document.path, fields.fields.map { ($0.name, .value($0.value)) }, in: database)
    }
  }
}
