import ConiferDocument
import Testing

@testable import ConiferFirestore

/// What an app's view model does with a database, on the main actor.
@MainActor
private final class ViewModel {
  let db: Firestore
  private(set) var names: [String] = []
  private(set) var size = 0
  private var listener: (any ListenerRegistration)?

  init(_ db: Firestore) { self.db = db }

  /// Compiled only: on Linux nobody serves the main queue in a test.
  func start() {
    listener = db.collection("rooms").order(by: "name").addSnapshotListener { snapshot, _ in
      // Written for the main queue, on which blocks run on Apple systems.
      MainActor.assumeIsolated {
        self.names = snapshot?.documents.compactMap { $0.get("name") as? String } ?? []
      }
    }
  }

  func stop() { listener?.remove() }

  func follow() async throws {
    for try await snapshot in db.collection("rooms").order(by: "name").snapshots {
      names = snapshot.documents.compactMap { $0.get("name") as? String }
      if names.count == 2 { return }
    }
  }

  func save(_ name: String) async throws -> WriteReceipt.ID? {
    var data: [String: Any] = ["size": size]
    data["name"] = name
    return try await db.collection("rooms").document(name).enqueue(.set(data)).id
  }

  func grow() async throws -> Int {
    let eros = db.document("rooms/eros")
    return try await db.runTransaction { transaction in
      self.size += 1
      let room = try await transaction.getDocument(eros)
      transaction.updateData(["size": self.size], forDocument: room.reference)
      return self.size
    }
  }
}

@Suite("Code of the main actor")
struct MainActorTests {
  @Test("A view model writes, follows a sequence and runs transactions without leaving its actor")
  @MainActor
  func viewModel() async throws {
    let world = try ClientWorld(isOnline: false)
    let model = ViewModel(world.firestore)
    #expect(try await model.save("Eros") != nil)
    #expect(try await model.save("Zeus") != nil)
    try await model.follow()
    #expect(model.names == ["Eros", "Zeus"])
    try await world.end()

    let recorded = Recorded()
    let found = Document(
      try DocumentPath("rooms/eros"), .found(["size": 3]), version: try .init(microseconds: 7))
    recorded.engine.answer { $0.documents = [[found]] }
    #expect(try await ViewModel(recorded.firestore).grow() == 1)
    #expect(recorded.engine.answer { $0.commits.count } == 1)
  }
}
