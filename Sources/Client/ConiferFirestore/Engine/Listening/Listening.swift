import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import Logging

/// The listeners of queries and documents: asks the server for their targets, stores its answers,
/// and tells them.
final class Listening {
  var listens: ListenMachine
  let targets: TargetStore
  let watch: PersistentWatchStream
  let store: DocumentStore
  let outbox: Outbox
  let registry: ListenerRegistry
  let setup: FirestoreConfiguration
  let recovery: StorageRecovery
  let indexing: IndexCreation
  /// The documents that are forgotten at the step's end unless something needs them.
  let unneeded: UnneededDocuments
  let events: RemoteEventStore
  let inner = InnerListeners()
  /// What the server said of documents that the listens have not taken in yet.
  private var gathered: [WatchChange] = []

  init(
    _ setup: FirestoreConfiguration, _ store: DocumentStore, _ outbox: Outbox,
    _ registry: ListenerRegistry, _ watch: PersistentWatchStream, _ recovery: StorageRecovery
  ) {
    self.setup = setup
    self.store = store
    self.outbox = outbox
    self.registry = registry
    self.watch = watch
    self.recovery = recovery
    targets = TargetStore(store)
    indexing = IndexCreation(store, setup.logger)
    unneeded = UnneededDocuments(store)
    events = RemoteEventStore(store, targets, unneeded)
    listens = ListenMachine(store.database, limboLimit: setup.limboLimit)
  }

  /// Begins with what the storage knows.
  ///
  /// - Parameter version: the newest moment of the server's that it knows.
  func begin(at version: ConiferDocument.Timestamp) {
    events.begin(at: version)
    listens = ListenMachine(
      store.database, storedVersion: version, limboLimit: setup.limboLimit)
  }

  // MARK: Listeners

  /// Targets are about to be listened to, one after the other: what is new of them is stored together.
  func prepare(_ new: some Collection<DocumentTarget>) {
    if store.lane != nil, new.count > 1 { targets.prepare(new) }
  }

  /// Somebody listens.
  func listen(_ id: ListenerID, _ query: DocumentQuery, _ options: ListenOptions) {
    guard store.lane != nil else { return tell(id, .failure(store.error)) }
    do throws(StoreError) { try begin(id, query, options) } catch {
      tell(
        id,
        .failure(
          FirestoreError(
            .unavailable, "The query could not be listened to, as the storage failed. Try again.",
            cause: "\(error)")))
    }
  }

  /// Somebody listens within the engine; gives the listener's number.
  ///
  /// - Throws: when the storage failed: nobody listens then, and the handler is not called.
  func listen(
    _ query: DocumentQuery, _ options: ListenOptions, _ handler: @escaping InnerListeners.Handler
  ) throws(StoreError) -> ListenerID {
    let id = inner.add(handler)
    do throws(StoreError) { try begin(id, query, options) } catch {
      inner.remove(id)
      throw error
    }
    return id
  }

  private func begin(
    _ id: ListenerID, _ query: DocumentQuery, _ options: ListenOptions
  ) throws(StoreError) {
    let number = try targets.open(query.target)
    do throws(StoreError) {
      let stored = try stored(query, number)
      run(listens.listen(id, query, options, stored: stored, reusing: number))
    } catch {
      if !listens.isListened(number) { targets.release(query.target) }
      throw error
    }
  }

  /// Listens until the first event.
  func listenOnce(
    _ query: DocumentQuery, _ options: ListenOptions, _ handler: @escaping InnerListeners.Handler
  ) { listen(inner.addOnce(handler), query, options) }

  /// What the store has of a query; of one that is listened to already only the token and its time.
  private func stored(
    _ query: DocumentQuery, _ number: TargetID
  ) throws(StoreError) -> ConiferDocumentSync.StoredQuery {
    if listens.target(of: query) != nil {
      let record = targets[number]?.record
      return ConiferDocumentSync.StoredQuery(
        resumeToken: record?.token ?? [], version: record?.version ?? .zero)
    }
    let (stored, answer) = try targets.stored(query, number)
    indexing.consider(answer)
    return stored
  }

  /// Somebody listens no longer.
  func unlisten(_ id: ListenerID) {
    inner.remove(id)
    guard let query = listens.query(of: id) else { return }
    prepareEnd(of: query)
    run(listens.unlisten(id))
  }

  /// Records what is known of a query whose last listener may be about to leave.
  private func prepareEnd(of query: DocumentQuery) {
    guard let number = listens.target(of: query) else { return }
    recordCompleteness(number)
    if store.collectsEagerly { unneeded.add(listens.documents(of: query)) }
  }

  /// The engine ends: what is known of all that is listened to is stored.
  func end() {
    for id in targets.all { recordCompleteness(id) }
    targets.end()
    inner.removeAll()
  }

  // MARK: What changes

  /// Documents have changed: a write was made, accepted or refused, or another user is signed in.
  func changed(_ documents: [Document], _ cause: ChangeCause) {
    run(listens.changed(documents, cause))
  }

  /// Documents have changed. Listeners that cover a document that cannot be shown end.
  func changed(_ shown: ShownDocuments, _ cause: ChangeCause) {
    if !shown.unknown.isEmpty {
      let refusal = StatusError(
        .failedPrecondition,
        "A later version stored what waiting writes do to documents here: open the store with a newer one."
      )
      // These listeners end first: otherwise they would be read again for the known documents.
      for (target, queries) in listens.queriesByTarget.sorted(by: { $0.key < $1.key })
      where queries.contains(where: { shown.unknown.contains(where: $0.source.contains) }) {
        run(listens.refuse(target, refusal))
      }
    }
    changed(shown.known, cause)
  }

  /// The network may be used, or not.
  func setEnabled(_ isEnabled: Bool, meanwhile state: OnlineState = .offline) {
    if !isEnabled { watch.close() }
    run(listens.setEnabled(isEnabled, meanwhile: state))
  }

  /// Whether an index is declared when a query shows that one would help.
  func setCreatesIndexes(_ creates: Bool) { indexing.isOn = creates }

  // MARK: The stream

  /// Takes what the server said of a document alone: the listens take in together what follows one another.
  ///
  /// `takeInGathered` is called before anything else happens.
  func gather(_ change: consuming WatchChange) {
    gathered.append(change)
    watch.stream?.taken()
  }

  /// Has the listens take in what was gathered.
  ///
  /// - Returns: whether that asked for anything.
  func takeInGathered() -> Bool {
    guard !gathered.isEmpty else { return false }
    watch.served()
    let all = gathered
    gathered = []
    let actions = listens.received(documents: all)
    run(actions)
    return !actions.isEmpty
  }

  /// Something happened on the stream of listens.
  func happened(_ event: WatchStreamEvent) {
    switch event {
    case .opened:
      watch.opened()
      run(listens.streamOpened())
    case .said(let change, let version):
      watch.served()
      do throws(StoreError) {
        switch change {
        case .targets(.rejected, let ids, _):
          try targets.refused(ids.isEmpty ? Array(targets.all) : ids)
        case .unreadable(_, let ids): try targets.refused(ids)
        default: break
        }
      } catch {
        watch.stream?.taken()
        return recovery.report(error, isHeard: true)
      }
      run(listens.received(change, version: version))
      watch.stream?.taken()
    case .closed(let error):
      watch.closed(error)
      run(listens.streamClosed(error))
    }
  }

  /// A time may have come that the listens or their stream wait for.
  func tick() {
    if !isAlwaysReached { run(listens.tick(at: setup.clock.now)) }
    if watch.tick() { opening() }
  }

  /// The next attempt to open the stream comes at once.
  func skipBackoff() { if watch.skipBackoff() { opening() } }

  /// When `tick` is to be called.
  var deadline: Int64? {
    guard !isAlwaysReached, let own = listens.deadline else { return watch.deadline }
    return min(own, watch.deadline ?? own)
  }

  /// Whether the server never counts as out of reach because it takes long: one in this process is only slow.
  private var isAlwaysReached: Bool { setup.localAuthority != nil }

  func opening() {
    run(listens.streamStarted(at: setup.clock.now))
    watch.open()
  }

  // MARK: Unneeded documents

  /// Ends listeners that have had their event, and forgets unneeded documents where the cache does
  /// so.
  func collect() {
    while let id = inner.takeDone() { unlisten(id) }
    unneeded.collect { listens.needs($0) }
  }
}
