import ConiferKeyValue
import ConiferStorage
import ConiferSync
import Logging

/// The beginning and the end of an engine's work.
struct EngineLifetime {
  let storage: EngineStorage
  let setup: DatabaseConfiguration
  let views: Views
  let connection: Connection
  let user: SignedInUser
  let listening: Listening
  let writes: Writes
  let gets: Gets
  let transactions: Transactions
  let disconnects: Disconnects

  /// Opens the storage, commits the declared indexes, shows nothing of it yet, and lets the connection begin.
  ///
  /// What was kept of the last user and the number of the last write are read; queue, cache and pins are not.
  ///
  /// - Parameter isAway: whether the app went offline meanwhile; asked when the storage is open.
  nonisolated(nonsending) func open(isAway: () -> Bool) async {
    if let fault = setup.fault { return storage.fail(fault) }
    do throws(StoreError) {
      try setup.effectiveStorage.willEncrypt()
      let backend = try await storage.openBackend(setup.effectiveStorage)
      if setup.hasMailbox { setup.effectiveStorage.tellPlain() }
      do throws(StoreError) {
        try await begin(backend)
      } catch {
        await storage.closeBackend(backend)
        throw error
      }
    } catch {
      return storage.fail(DatabaseError(error, "The storage could not be opened"))
    }
    if isAway() { connection.tell(.reasonBegan(.offline)) }
    connection.start()
  }

  private nonisolated(nonsending) func begin(
    _ backend: any StorageBackend
  ) async throws(StoreError) {
    let tree = try await backend.tree(named: setup.namespace)
    await declareIndexes(backend, tree)
    try await storage.reserveNumbers(in: backend, Lane(tree: tree, identity: ""), setup.random)
    try user.begin(backend, tree)
    views.use(StoredCache(backend, tree, views.times, setup.logger))
    storage.reportIncidents()
    storage.begin(setup.housekeeping, by: setup.clock)
  }

  private nonisolated(nonsending) func declareIndexes(
    _ backend: any StorageBackend, _ tree: TreeID
  ) async {
    do throws(StoreError) {
      _ = try await backend.commit(
        [.setIndexes(tree, setup.indexes)], min(.process, backend.traits.store.strongest))
    } catch {
      // Queries are answered all the same, only slower.
      guard !setup.indexes.isEmpty else { return }
      setup.logger.error("indexes are not kept", metadata: ["cause": "\(error)"])
    }
  }

  /// Another process may have changed the storage while it was suspended: what is known of it is read again.
  ///
  /// - Throws: why it cannot be read; then this is to be done again.
  func storeChanged() throws(DatabaseError) {
    try writes.storeChanged()
    // The views begin anew with the queue as it is now.
    let newest = try views.queueChanged()
    listening.listens.storeChanged()
    connection.tell(.laneOpened(newest: newest))
    storage.reportIncidents()
  }

  /// Ends all work; gives the storage that is to be closed.
  func end() -> (any StorageBackend)? {
    user.close()
    transactions.giveUp(.databaseClosed)
    connection.end()
    views.close()
    let backend = storage.close()
    let error = storage.error
    listening.close(error)
    gets.close(error)
    disconnects.close(error)
    writes.close(error)
    return backend
  }
}
