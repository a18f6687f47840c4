import ConiferDocument
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import Logging

/// The beginning and the end of an engine's work.
struct EngineLifetime {
  let setup: FirestoreConfiguration
  let store: DocumentStore
  let user: SignedInUser
  let listening: Listening
  let writes: DocumentWrites
  let sending: WriteSending
  let pinned: PinnedQueries
  let network: NetworkUse
  let recovery: StorageRecovery
  let registry: ListenerRegistry
  let post: @Sendable (DocumentStep) -> Void

  /// Opens the storage and lets the network be used.
  nonisolated(nonsending) func open() async {
    if let fault = setup.fault { return store.engine.fail(DatabaseError(fault)) }
    do throws(StoreError) {
      let backend = try await store.engine.openBackend(setup.effectiveStorage)
      do throws(StoreError) {
        let documents = try backend.keepingDocuments()
        let tree = try await tree(of: documents)
        try await store.engine.reserveNumbers(in: backend, Lane(tree: tree), setup.random)
        try begin(documents, tree)
      } catch {
        await store.engine.closeBackend(backend)
        throw error
      }
    } catch {
      store.engine.fail(DatabaseError(error, "The storage could not be opened"))
      return user.close()
    }
    network.begin()
    pinned.begin()
  }

  /// The tree of the database's documents. An existing one is looked up on this thread, which saves
  /// the first listener two changes of thread.
  private nonisolated(nonsending) func tree(
    of backend: any DocumentBackend
  ) async throws(StoreError) -> TreeID {
    let name = "\(store.database)"
    // When trees cannot be listed, the tree is looked up by its name.
    let trees = try? backend.read { (view) throws(StoreError) in try view.trees() }
    let known = trees?.first { $0.name.utf8.elementsEqual(name.utf8) && $0.order == .documents }
    if let known { return known.id }
    return try await backend.tree(named: name, order: .documents)
  }

  private func begin(_ backend: any DocumentBackend, _ tree: TreeID) throws(StoreError) {
    let version = try backend.read { (view) throws(StoreError) in
      try view.metadata(tree, MetadataName.snapshot)
    }
    store.open(backend, Lane(tree: tree, identity: try user.begin(backend, tree)))
    try sending.begin()
    listening.begin(at: version.map(SnapshotVersion.time) ?? .zero)
    backend.observeIncidents { [post] in post(.storageDamaged) }
    store.engine.reportIncidents()
    store.engine.begin(setup.housekeeping, by: setup.clock)
  }

  /// Ends all work; gives the storage that is to be closed.
  func end() -> (any StorageBackend)? {
    registry.end()
    user.close()
    pinned.close()
    listening.end()
    network.end()
    recovery.close()
    let backend = store.close()
    writes.close(store.engine.error)
    return backend
  }
}
