import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import Logging

/// The listeners, what the server is asked for them, and what of its answers is stored.
final class Listening {
  /// Who listens within the engine, such as a get.
  typealias Told = (Result<ListenEvent, FirestoreError>) -> Void

  private(set) var listens: DocumentListens
  let targets: TargetStore
  let watch: WatchSlot
  private let store: DocumentStore
  private let outbox: Outbox
  private let registry: ListenerRegistry
  private let setup: FirestoreConfiguration
  private let faults: StepFaults
  private let indexing: IndexCreation
  /// What is forgotten at the step's end unless something needs it.
  let unneeded: UnneededDocuments
  private var inner: [ListenerID: Told] = [:]
  /// Listeners within the engine that have heard what they waited for.
  private var endings: [ListenerID] = []
  private var lastInner: ListenerID = 1 << 63
  /// As of when the store has what the server said of all that is listened to.
  private var newest = ConiferDocument.Timestamp.zero

  init(
    _ setup: FirestoreConfiguration, _ store: DocumentStore, _ outbox: Outbox,
    _ registry: ListenerRegistry, _ watch: WatchSlot, _ faults: StepFaults
  ) {
    self.setup = setup
    self.store = store
    self.outbox = outbox
    self.registry = registry
    self.watch = watch
    self.faults = faults
    targets = TargetStore(store)
    indexing = IndexCreation(store, setup.logger)
    unneeded = UnneededDocuments(store)
    listens = DocumentListens(store.database, limboLimit: setup.limboLimit)
  }

  /// Begins with what the storage knows.
  ///
  /// - Parameter version: the newest moment of the server's that it knows.
  func begin(at version: ConiferDocument.Timestamp) {
    newest = version
    listens = DocumentListens(
      store.database, storedVersion: version, limboLimit: setup.limboLimit)
  }

  // MARK: Listeners

  /// Somebody listens.
  func listen(_ id: ListenerID, _ query: DocumentQuery, _ options: ListenOptions) {
    guard store.lane != nil else { return tell(id, .failure(store.error)) }
    do throws(StoreError) {
      let number = try targets.open(query.target)
      do throws(StoreError) {
        let stored = try stored(query, number)
        run(listens.listen(id, query, options, stored: stored, reusing: number))
      } catch {
        if listens.queriesByTarget[number] == nil { targets.release(query.target) }
        throw error
      }
    } catch {
      tell(
        id,
        .failure(
          FirestoreError(
            .unavailable, "The query could not be listened to, as the storage failed. Try again.",
            cause: "\(error)")))
    }
  }

  /// Somebody listens within the engine; gives the listener's number.
  @discardableResult
  func listen(
    _ query: DocumentQuery, _ options: ListenOptions, _ told: @escaping Told
  ) -> ListenerID {
    lastInner += 1
    inner[lastInner] = told
    listen(lastInner, query, options)
    return lastInner
  }

  /// Listens until the first event.
  func listenOnce(_ query: DocumentQuery, _ options: ListenOptions, _ told: @escaping Told) {
    let id = lastInner + 1
    listen(query, options) { [self] result in
      inner[id] = { _ in }
      endings.append(id)
      told(result)
    }
  }

  /// What the store has of a query, as far as that is not known.
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
    inner[id] = nil
    guard let query = listens.query(of: id) else { return }
    prepareEnd(of: query)
    run(listens.unlisten(id))
  }

  /// What a query knows is noted while it is listened to; its last listener may be about to leave.
  private func prepareEnd(of query: DocumentQuery) {
    guard let number = listens.target(of: query) else { return }
    if store.isEager {
      unneeded.add(listens.documents(of: query))
    } else if listens.isSynced(query) {
      targets.becameWhole(number, at: newest)
    }
  }

  /// The engine ends: what is known of all that is listened to is stored.
  func end() {
    for id in targets.all {
      if listens.queriesByTarget[id]?.contains(where: { listens.isSynced($0) }) == true {
        targets.becameWhole(id, at: newest)
      }
    }
    targets.end()
    inner = [:]
  }

  // MARK: What changes

  /// Documents are others than before: a write was made, accepted or refused, or another user is signed in.
  func changed(_ documents: [Document]) { run(listens.changed(documents)) }

  /// The network may be used, or not.
  func setEnabled(_ isEnabled: Bool, meanwhile state: OnlineState = .offline) {
    if !isEnabled { watch.close() }
    run(listens.setEnabled(isEnabled, meanwhile: state))
  }

  /// Whether an index is declared when a query shows that one would help.
  func setCreatesIndexes(_ creates: Bool) { indexing.isOn = creates }

  // MARK: The stream

  /// Something happened on the stream of listens.
  func happened(_ event: WatchStreamEvent) {
    switch event {
    case .opened:
      watch.opened()
      run(listens.streamOpened())
    case .said(let change, let version):
      watch.served()
      if case .targets(.rejected, let ids, _) = change {
        do throws(StoreError) { try targets.refused(ids) } catch { return faults.report(error) }
      }
      run(listens.received(change, version: version))
    case .closed(let error):
      watch.closed(error)
      run(listens.streamClosed(isFailure: error != nil))
    }
  }

  /// A time may have come that the listens or their stream wait for.
  func tick() {
    run(listens.tick(at: setup.clock.now))
    if watch.tick() { opening() }
  }

  /// The next attempt to open the stream comes at once.
  func skipBackoff() { if watch.skipBackoff() { opening() } }

  /// When `tick` is to be called.
  var deadline: Int64? { [listens.deadline, watch.deadline].compactMap { $0 }.min() }

  private func opening() {
    run(listens.streamStarted(at: setup.clock.now))
    watch.open()
  }

  // MARK: What the listens ask for

  /// Has done what the listens ask for, and tells those who wait for that when a listener was told.
  private func run(_ actions: [SyncAction]) {
    guard carryOut(actions), registry.hasInSync else { return }
    outbox.addCall { [registry] in registry.tellAllInSync() }
  }

  /// - Returns: whether a listener was told.
  private func carryOut(_ actions: [SyncAction]) -> Bool {
    var isTold = false
    for action in actions {
      switch action {
      case .openStream: if watch.start() { opening() }
      case .idle: watch.idle()
      case .add(let target):
        watch.used()
        watch.stream?.add(target)
      case .remove(let id):
        watch.used()
        watch.stream?.remove(id)
      case .store(let event): if take(event) { isTold = true }
      case .read(let query): if refill(query) { isTold = true }
      case .release(let target): targets.release(target)
      case .tell(let id, let snapshot):
        isTold = true
        tell(id, .success(ListenEvent(snapshot: snapshot, knowledge: knowledge(of: snapshot))))
      case .fail(let id, let error):
        setup.logger.warning("a listener ended", metadata: ["cause": "\(error)"])
        tell(id, .failure(FirestoreError(error)))
      case .warnOffline:
        setup.logger.warning("the server cannot be reached; the cache is used until it can be")
      }
    }
    return isTold
  }

  private func tell(_ id: ListenerID, _ result: Result<ListenEvent, FirestoreError>) {
    if let told = inner[id] {
      if case .failure = result { inner[id] = nil }
      return told(result)
    }
    outbox.addCall { [registry] in registry.tell(id, result) }
  }

  /// How well the cache knows a query.
  ///
  /// - Parameter stored: what is stored of its target.
  func knowledge(of query: DocumentQuery, stored: TargetRecord?) -> QueryKnowledge {
    let record = listens.target(of: query).flatMap { targets[$0]?.record } ?? stored
    guard let record else { return QueryKnowledge() }
    return QueryKnowledge(
      wasEverComplete: record.isComplete,
      readTime: listens.isSynced(query) ? max(newest, record.version) : record.version)
  }

  /// A query was answered that nobody listens to.
  func considerIndex(_ answer: DocumentAnswer) { indexing.consider(answer) }

  /// How well the cache knows what a snapshot shows.
  private func knowledge(of snapshot: ViewSnapshot) -> QueryKnowledge {
    guard let number = listens.target(of: snapshot.query), let row = targets[number] else {
      return QueryKnowledge()
    }
    let isServers = !snapshot.isFromCache
    return QueryKnowledge(
      wasEverComplete: row.record.isComplete || isServers,
      readTime: isServers ? max(newest, row.record.version) : row.record.version)
  }

  /// A query's documents are read anew.
  private func refill(_ query: DocumentQuery) -> Bool {
    do throws(StoreError) {
      let number = listens.target(of: query)
      let answer = try store.read { (view, lane) throws(StoreError) in
        try view.query(lane, query, tracked: number.flatMap { targets[$0]?.query })
      }
      indexing.consider(answer)
      return carryOut(listens.refilled(query, answer.documents))
    } catch {
      // The view goes on with what it has; what the server says next fills it.
      faults.report(error)
      return carryOut(listens.refilled(query, []))
    }
  }

  /// Stores an event and tells the listeners of it.
  private func take(_ event: RemoteEvent) -> Bool {
    let documents: [Document]
    do throws(StoreError) {
      documents = try storeEvent(event)
    } catch {
      faults.report(error)
      faults.refuse(event)
      return false
    }
    newest = max(newest, event.version)
    let isTold = carryOut(listens.stored(event, documents))
    for id in event.targets.keys.sorted() {
      if listens.queriesByTarget[id]?.contains(where: { listens.isSynced($0) }) == true {
        targets.becameWhole(id, at: newest)
      }
    }
    return isTold
  }

  /// An event could not be stored.
  func notStored(_ event: RemoteEvent) { run(listens.notStored(event)) }

  private func storeEvent(_ event: RemoteEvent) throws(StoreError) -> [Document] {
    let changes = targets.edits(for: event)
    let paths = event.documents.keys.sorted()
    let puts = try store.read { (view, lane) throws(StoreError) in
      var puts: [DocumentEdit] = []
      for path in paths {
        guard let document = event.documents[path] else { continue }
        if document.state == .missing, document.version == .zero {
          puts.append(.forget(path))
        } else if try view.document(lane.tree, path).isReplaced(by: document) {
          puts.append(.put(document))
        }
      }
      return puts
    }
    var edits = changes.edits
    let documents = puts + changes.documents
    if !documents.isEmpty { edits.append(.documents(store.tree, documents)) }
    if !edits.isEmpty, event.version > newest {
      edits.append(
        .setMetadata(store.tree, SnapshotVersion.name, SnapshotVersion.bytes(event.version)))
    }
    try store.commit(edits)
    targets.took(changes.rows)
    if store.isEager {
      unneeded.add(paths)
      for change in event.targets.values { unneeded.add(change.removed) }
    }
    return try store.shown(paths)
  }

  // MARK: Unneeded documents

  /// Ends listeners that have heard what they waited for, and forgets what nothing needs any more, where that is wanted.
  func collect() {
    while let id = endings.popLast() { unlisten(id) }
    unneeded.collect { listens.needs($0) }
  }
}
