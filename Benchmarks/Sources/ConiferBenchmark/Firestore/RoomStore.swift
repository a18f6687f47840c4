import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import Foundation

/// A backend with rooms, without a client: the same edits and queries.
final class RoomStore: Sendable {
  private let backend: any DocumentBackend
  private let tree: TreeID
  private var lane: Lane { Lane(tree: tree) }

  init(_ configuration: StorageConfiguration) async throws {
    backend = try configuration.open().keepingDocuments()
    tree = try await backend.tree(named: "\(SampleRooms.database)", order: .documents)
  }

  /// What each commit survives, as with a client.
  private var level: Durability { min(.process, backend.traits.store.strongest) }

  /// Stores collections as a client does that listens to them: each is a tracked query, whose documents come with where the
  /// server goes on.
  func load(_ collections: [(path: String, documents: [Document])]) throws {
    for (path, documents) in collections {
      let target = try query(path).target
      let saved = try backend.commitAndWait([.saveQuery(TrackedQuery(lane, target))], level)
      guard let id = saved.queries.first else { continue }
      let known = TrackedQuery(
        lane, target, isComplete: true, resumeToken: Array("token of \(path)".utf8))
      let edits =
        [DocumentEdit.updateMatches(id, added: documents.map(\.path), removed: [])]
        + documents.map { .put($0) }
      _ = try backend.commitAndWait(
        [
          .saveQuery(known), .documents(tree, edits),
          .setMetadata(tree, "bench", Array(path.utf8)),
        ], level)
    }
  }

  private func query(_ path: String) throws -> DocumentQuery {
    DocumentQuery(.collection(try CollectionPath(path)), in: SampleRooms.database)
  }

  /// How many documents a collection has, each of which was made.
  func count(_ path: String) throws -> Int {
    let query = try query(path)
    return try backend.readDocuments { (view) throws(StoreError) in
      try view.query(lane, query).documents
    }.count
  }

  /// Adds drafts of documents.
  static func add(
    _ count: Int, _ drafts: Drafts, in backend: any StorageBackend
  ) async throws {
    let tree = try await backend.tree(named: "\(SampleRooms.database)", order: .documents)
    let lane = Lane(tree: tree)
    let time = try Timestamp(seconds: 1_714_103_200)
    for start in stride(from: 0, to: count, by: 500) {
      let numbers = start..<min(start + 500, count)
      let edits: [StorageEdit]
      switch drafts {
      case .elsewhere, .firstRoom:
        edits = try numbers.map { number in
          let write = try Mutation.merge(
            try DocumentPath(drafts.path(number)),
            [
              ("text", .value(.string("draft \(number)"))), ("read", .value(true)),
              ("likes", .increment(1)),
            ], in: SampleRooms.database)
          let batch = MutationBatch([write], written: time) { Document($0, .unseen) }
          return .enqueue(lane, batch.payload)
        }
      case .told:
        let documents = try numbers.map { number in
          DocumentEdit.put(
            Document(
              try DocumentPath(drafts.path(number)),
              .found(["text": .string("draft \(number)"), "read": true, "likes": 1]),
              version: time, readTime: time))
        }
        edits = [.documents(tree, documents)]
      }
      let level = min(.process, backend.traits.store.strongest)
      _ = try await onThread { try backend.commitAndWait(edits, level) }
    }
  }

  func close() async throws { try await backend.close() }
}

/// Documents besides those that the client was told of, which no query by a score gives.
enum Drafts {
  /// Writes that wait, in collections of their own, ten in each.
  case elsewhere
  /// Writes that wait in the first room.
  case firstRoom
  /// The same documents in the first room, after the server has told of them.
  case told

  /// The path of a draft.
  func path(_ number: Int) -> String {
    switch self {
    case .elsewhere: "drafts/d\(number / 10)/parts/p\(number % 10)"
    case .firstRoom, .told: "\(SampleRooms.room(0))/draft\(number)"
    }
  }
}
