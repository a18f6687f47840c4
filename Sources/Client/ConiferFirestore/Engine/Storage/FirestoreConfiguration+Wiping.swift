import ConiferDocument
import ConiferKeyValue
import ConiferStorage

extension FirestoreConfiguration {
  /// Removes all that is kept of a database that no engine uses: documents, indexes, and writes that wait; also what was
  /// set aside of a damaged store.
  package func wipe() async throws(FirestoreError) {
    guard isPersistenceEnabled else { return }
    do throws(StoreError) {
      let storage = localAuthority == nil ? effectiveStorage : authorityStorage
      let backend = try await storage.openOrSalvage().backend
      do throws(StoreError) {
        let trees = try self.trees(of: backend)
        let durability = min(options.durability.wanted, backend.traits.store.strongest)
        if !trees.isEmpty { _ = try await backend.commit(trees.map { .wipe($0) }, durability) }
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

  /// The trees of the database: that of its documents, and of an authority those with longer names beside it.
  private func trees(of backend: any StorageBackend) throws(StoreError) -> [TreeID] {
    let name = "\(DatabaseID(project: projectID, database: databaseID))".utf8
    return try backend.read { (view) throws(StoreError) in try view.trees() }
      .filter { tree in
        tree.name.utf8.elementsEqual(name)
          || localAuthority != nil && tree.name.utf8.starts(with: Array(name) + [0x2F])
      }
      .map(\.id)
  }
}
