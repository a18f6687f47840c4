import ConiferDocument
import ConiferKeyValue
import ConiferStorage

extension FirestoreConfiguration {
  /// Removes all that is kept of a database that no engine uses: documents, indexes, and writes that wait; also what was
  /// set aside of a damaged store.
  package func wipe() async throws(FirestoreError) {
    guard isPersistenceEnabled else { return }
    let database = DatabaseID(project: projectID, database: databaseID)
    do throws(StoreError) {
      let storage = effectiveStorage
      let backend = try await storage.openOrSalvage().backend
      do throws(StoreError) {
        let tree = try await backend.tree(named: "\(database)", order: .documents)
        let durability = min(options.durability.wanted, backend.traits.store.strongest)
        _ = try await backend.commit([.wipe(tree)], durability)
      } catch {
        try? await backend.close()
        throw error
      }
      try await backend.close()
      try storage.emptySetAside()
    } catch {
      if error.code == .busy {
        throw FirestoreError(
          .failedPrecondition,
          "What is kept was not removed, as another client or process uses it: terminate that one first. "
            + error.message)
      }
      throw FirestoreError(error, "What is kept was not removed")
    }
  }
}
