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

  /// Queues writes to documents that no server told of.
  static func queue(
    _ count: Int, _ place: DraftPlace, in backend: any StorageBackend
  ) async throws {
    let tree = try await backend.tree(named: "\(SampleRooms.database)", order: .documents)
    let lane = Lane(tree: tree)
    let time = try Timestamp(seconds: 1_714_103_200)
    for start in stride(from: 0, to: count, by: 500) {
      let edits = try (start..<min(start + 500, count)).map { number -> StorageEdit in
        let write = try Mutation.merge(
          try DocumentPath(place.path(number)),
          [
            ("text", .value(.string("draft \(number)"))), ("read", .value(true)),
            ("likes", .increment(1)),
          ], in: SampleRooms.database)
        let batch = MutationBatch([write], written: time) { Document($0, .unseen) }
        return .enqueue(lane, batch.payload)
      }
      let level = min(.process, backend.traits.store.strongest)
      _ = try await onThread { try backend.commitAndWait(edits, level) }
    }
  }

  func close() async throws { try await backend.close() }
}

/// Where writes wait.
enum DraftPlace {
  /// In collections of their own, ten in each.
  case elsewhere
  /// In the first room.
  case firstRoom

  /// The path of a draft.
  func path(_ number: Int) -> String {
    switch self {
    case .elsewhere: "drafts/d\(number / 10)/parts/p\(number % 10)"
    case .firstRoom: "\(SampleRooms.room(0))/draft\(number)"
    }
  }
}
