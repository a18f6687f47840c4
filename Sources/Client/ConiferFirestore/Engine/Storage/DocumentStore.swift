import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import Logging

/// The storage of an engine of documents: what the parts read and commit.
final class DocumentStore {
  let engine: EngineStorage
  let database: DatabaseID
  /// Whether documents that nothing needs any more are forgotten at once.
  let collectsEagerly: Bool
  private let outbox: Outbox
  private let logger: Logger
  private var backend: (any DocumentBackend)?
  /// Whether it was used since `takeDamage`, and so may have met damage.
  private var isUsed = false
  /// The trees in which damage was found since then.
  private var damaged: Set<TreeID> = []

  init(_ setup: FirestoreConfiguration, _ engine: EngineStorage, _ outbox: Outbox) {
    self.engine = engine
    self.outbox = outbox
    logger = setup.logger
    database = DatabaseID(project: setup.projectID, database: setup.databaseID)
    collectsEagerly = setup.cache == .memoryWhileUsed
  }

  /// The lane of who is signed in; nil while the storage is not open.
  var lane: Lane? { engine.lane }
  /// The tree of the database's documents.
  var tree: TreeID { engine.tree }
  /// The lane of nobody, under which tracked queries and pins are stored, as all users share them.
  var sharedLane: Lane { Lane(tree: tree) }
  /// Why calls fail that need the storage.
  var error: FirestoreError { FirestoreError(engine.error) }
  /// The storage as one that evicts.
  ///
  /// - Throws: why it is not open; `unimplemented` when it evicts nothing.
  func evicting() throws(FirestoreError) -> any EvictingBackend {
    guard let backend else { throw error }
    guard let evicting = backend as? any EvictingBackend else {
      throw FirestoreError(.unimplemented, "The storage evicts nothing by itself.")
    }
    return evicting
  }

  func open(_ backend: any DocumentBackend, _ lane: Lane) {
    self.backend = backend
    engine.open(backend, lane)
  }

  /// It is closed; gives the backend that is to be.
  func close() -> (any StorageBackend)? {
    backend = nil
    return engine.close()
  }

  /// Reads one moment.
  ///
  /// - Throws: as the view's reads, and `closed` when the storage is not open.
  func read<R>(
    _ body: (any DocumentView, Lane) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    isUsed = true
    guard let backend, let lane else {
      throw StoreError(.closed, "The database has no open storage. Open the database again.")
    }
    return try backend.readDocuments { (view) throws(StoreError) in try body(view, lane) }
  }

  /// Applies edits at once, so that they survive the process as far as the storage can.
  @discardableResult
  func commit(_ edits: [StorageEdit]) throws(StoreError) -> CommitReceipt {
    isUsed = true
    return try outbox.commitNow(edits)
  }

  /// Declares indexes at once, where the documents are: in the store of an authority in this process, too.
  func declare(_ edit: DocumentEdit) throws(StoreError) {
    guard let own = engine.authorityStore else {
      try commit([.documents(tree, [edit])])
      return
    }
    _ = try own.backend.commitAndWait(
      [.documents(own.tree, [edit])], min(.process, own.backend.traits.store.strongest))
  }

  /// Whether damage may have been found that `takeDamage` has not reported yet.
  func mayHaveNewIncidents() -> Bool {
    guard let new = engine.reportIncidents() else { return true }
    damaged.formUnion(new)
    return !damaged.isEmpty
  }

  /// The storage has met damage, perhaps while no step used it.
  func storageMetDamage() { isUsed = true }

  /// Whether damage was found since the last call, and set aside, in the database's tree; the log is told.
  func takeDamage() -> Bool {
    // Reports that cannot be read now are read after the next step.
    guard isUsed, lane != nil, let new = engine.reportIncidents() else { return false }
    isUsed = false
    defer { damaged = [] }
    return damaged.union(new).contains(tree)
  }

  /// Documents with the waiting writes of the signed-in user, where this version can read the
  /// writes.
  func known(_ paths: some Sequence<DocumentPath>) throws(StoreError) -> ShownDocuments {
    try read { (view, lane) throws(StoreError) in try view.shown(paths, to: lane) }
  }

  /// Documents with the waiting writes of who is signed in.
  ///
  /// - Throws: `newerFormat` also when a later version stored what the writes do to one of them.
  func shown(_ paths: some Sequence<DocumentPath>) throws(StoreError) -> [Document] {
    try read { (view, lane) throws(StoreError) in
      var documents: [Document] = []
      for path in paths { documents.append(try view.document(lane, path)) }
      return documents
    }
  }

  /// Marks a tracked query as listened to or not.
  ///
  /// - Returns: false when it is just being evicted.
  func setActive(_ isActive: Bool, _ id: QueryID) -> Bool {
    backend?.setActive(isActive, id, in: tree) ?? false
  }

  /// Tells the log what could not be done.
  func log(_ what: String, _ error: StoreError) {
    logger.error("\(what)", metadata: ["cause": "\(error)"])
  }
}
