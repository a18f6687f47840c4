import ConiferKit

/// The code of Docs/Firestore.md on databases without a server.
enum LocalFirestoreSamples {
  static func keepLocally(_ show: (String) -> Void) async throws {
    let db = Firestore(.local())
    let room = db.document("rooms/eros")
    try await room.setData(["name": "Eros"])
    show(try await room.getDocument().get("name") as? String ?? "none")
    try await db.terminate()
  }

  static func bringToServer(
    _ local: Firestore, _ db: Firestore, _ show: @escaping @Sendable (String) -> Void
  ) async throws -> CopyProgress {
    let result = try await local.copy(to: db) { progress in
      show("\(progress.copied + progress.kept) of \(progress.total)")
    }
    return result
  }
}
