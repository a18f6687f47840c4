import ConiferQuery
import ConiferTree

extension DatabaseQuery {
  /// Reads once from the server; after 3 s without a connection, what the cache has completely.
  ///
  /// - Parameter block: is given an error, or nil and the value; with an error the snapshot is empty.
  public final func getData(completion block: @escaping ((any Error)?, DataSnapshot) -> Void) {
    let user = UserCode<((any Error)?, DataSnapshot)>(block)
    let ref = self.ref
    let index = target.spec.index
    if let error {
      return database.deliver(error) { user(($0, DataSnapshot(ref, .empty, index))) }
    }
    engine.get(target) { result in
      switch result {
      case .success(let node): user((nil, DataSnapshot(ref, node, index)))
      case .failure(let error): user((error, DataSnapshot(ref, .empty, index)))
      }
    }
  }

  /// Reads once from the server; after 3 s without a connection, what the cache has completely.
  ///
  /// - Throws: `disconnected` when neither has it, `permissionDenied`, `invalidQuery`, and others.
  public final func getData() async throws(DatabaseError) -> DataSnapshot {
    if let error { throw error }
    let answer = Promise<Node>()
    engine.get(target) { answer.settle($0) }
    return DataSnapshot(ref, try await answer.value(), target.spec.index)
  }
}
