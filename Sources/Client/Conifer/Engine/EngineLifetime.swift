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
      let (backend, salvage) = try await setup.effectiveStorage.openOrSalvage()
      if let salvage {
        setup.logger.error("the store was damaged and salvaged", metadata: ["report": "\(salvage)"])
      }
      do throws(StoreError) {
        try await begin(backend)
      } catch {
        try? await backend.close()
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
    try user.begin(backend, tree)
    views.use(StoredCache(backend, tree, setup.logger))
    storage.reportIncidents()
    warnOfBudget(backend)
  }

  /// Tells the log of a budget that nobody keeps.
  private func warnOfBudget(_ backend: any StorageBackend) {
    let options = setup.effectiveStorage.options
    guard let budget = options.budget, options.role == .cache, !(backend is any EvictingBackend)
    else { return }
    setup.logger.warning(
      "the storage keeps no budget, so that the cache grows with all that is read",
      metadata: ["storage": "\(backend.traits.name)", "budget": "\(budget)"])
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

  /// Closes the storage, with everything in it made durable.
  nonisolated(nonsending) func close(_ backend: any StorageBackend) async {
    do throws(StoreError) {
      try await backend.close()
    } catch {
      storage.report(DatabaseError(error, "The storage was not closed in order"))
    }
  }
}
