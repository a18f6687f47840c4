import ConiferTree
import Testing

@testable import Conifer

/// A database over a recording engine.
struct ClientBench {
  let database: Database
  let root: DatabaseReference

  init(_ configuration: DatabaseConfiguration = DatabaseConfiguration(namespace: "bench")) {
    database = Database(configuration) { RecordingEngine($0) }
    root = database.reference()
  }

  var engine: RecordingEngine {
    get throws { try #require(database.engine as? RecordingEngine) }
  }

  /// Waits until the callback queue has done all that was handed to it before.
  func waitUntilIdle() async {
    await withCheckedContinuation { continuation in
      database.deliver { continuation.resume() }
    }
  }
}

/// The error that an async call throws; nil when it throws none.
func failure(_ body: () async throws -> Void) async -> DatabaseError? {
  do {
    try await body()
    return nil
  } catch {
    return error as? DatabaseError ?? DatabaseError(.internal, "another error: \(error)")
  }
}

extension LocalWrite {
  /// The place and the node of a set.
  var asSet: (path: Path, node: Node)? {
    if case .set(let path, let node) = self { return (path, node) }
    return nil
  }

  /// The place and the changes of an update.
  var asUpdate: (path: Path, changes: [NodeChange])? {
    if case .update(let path, let changes) = self { return (path, changes) }
    return nil
  }
}
