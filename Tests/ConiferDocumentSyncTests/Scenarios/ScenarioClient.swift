import ConiferDocument
import ConiferDocumentSync
import ConiferWire

/// A client of the machines under test, with a store and a server that the scenario speaks for.
struct ScenarioClient {
  /// What a listener was told.
  struct Event {
    let query: DocumentQuery
    let snapshot: ViewSnapshot?
    let error: StatusError?
  }

  var store: ScenarioStore
  var listens: DocumentListens
  var writes = WritePipeline()
  private var queries: [ListenerID: DocumentQuery] = [:]
  private var nextListener: ListenerID = 1
  private(set) var isEnabled = true
  private var now: Milliseconds = 0

  // What a step brought about.
  var events: [Event] = []
  var accepted: [DocumentPath] = []
  var refused: [DocumentPath] = []
  /// What the server was asked for on the stream.
  private(set) var active: [TargetID: WatchTarget] = [:]

  init(isEager: Bool, limboLimit: Int) {
    store = ScenarioStore(isEager: isEager)
    listens = DocumentListens(ScenarioReading.database, limboLimit: limboLimit)
  }

  mutating func beginStep() { (events, accepted, refused) = ([], [], []) }

  // MARK: The app

  mutating func listen(_ query: DocumentQuery, _ options: ListenOptions) throws {
    let id = nextListener
    nextListener += 1
    queries[id] = query
    let known = store.targets[query.target]?.id
    let actions = listens.listen(
      id, query, options, stored: store.stored(query), reusing: known)
    if let number = listens.target(of: query), known == nil {
      store.targets[query.target] = ScenarioStore.Target(id: number)
    }
    try run(actions)
  }

  mutating func unlisten(_ query: DocumentQuery) throws {
    guard let id = queries.first(where: { $0.value == query })?.key else { return }
    queries[id] = nil
    try run(listens.unlisten(id))
    store.collect(keeping: listens.shown)
  }

  mutating func write(_ mutation: Mutation) throws {
    try run(listens.changed(store.add(mutation)))
    try run(writes.queued())
  }

  mutating func setEnabled(_ isEnabled: Bool) throws {
    self.isEnabled = isEnabled
    active = [:]
    try run(listens.setEnabled(isEnabled))
    try run(writes.setEnabled(isEnabled))
  }

  mutating func waitForOnlineState() throws {
    now = listens.deadline ?? now
    try run(listens.tick(at: now))
  }

  // MARK: The server

  mutating func say(_ change: WatchChange, at version: Timestamp? = nil) throws {
    if case .targets(.rejected, let ids, _) = change { for id in ids { active[id] = nil } }
    try run(listens.received(change, version: version))
    store.collect(keeping: listens.shown)
  }

  mutating func breakStream() throws {
    active = [:]
    try run(listens.streamClosed(isFailure: true))
  }

  mutating func accept(at time: Timestamp) throws {
    try run(writes.answered(commitTime: time, [WriteResult(updateTime: time)], token: [1]))
  }

  mutating func refuse(_ error: StatusError) throws {
    try run(writes.streamClosed(error))
  }

  // MARK: What the machines ask for

  private mutating func run(_ actions: [SyncAction]) throws {
    for action in actions {
      switch action {
      case .openStream:
        try run(listens.streamStarted(at: now))
        try run(listens.streamOpened())
      case .idle, .warnOffline: break
      case .add(let target): active[target.id] = target
      case .remove(let id): active[id] = nil
      case .store(let event): try run(listens.stored(event, store.take(event)))
      case .read(let query): try run(listens.refilled(query, store.shown(query)))
      case .release(let target): store.release(target)
      case .tell(let id, let snapshot):
        guard let query = queries[id] else { continue }
        events.append(Event(query: query, snapshot: snapshot, error: nil))
      case .fail(let id, let error):
        guard let query = queries.removeValue(forKey: id) else { continue }
        events.append(Event(query: query, snapshot: nil, error: error))
      }
    }
  }

  private mutating func run(_ actions: [WriteAction]) throws {
    for action in actions {
      switch action {
      case .openStream: if isEnabled { try run(writes.streamOpened()) }
      case .greet: try run(writes.greeted(token: [1]))
      case .idle, .send, .inhibitBackoff: break
      case .read(let after, let count):
        let next = store.batches.filter { $0.id > after ?? 0 }.prefix(count)
        try run(writes.take(Array(next), after: after, count: count))
      case .accepted(let id, let time, _): try end(id, acceptedAt: time)
      case .refused(let id, _): try end(id, acceptedAt: nil)
      }
    }
  }

  private mutating func end(_ id: BatchID, acceptedAt time: Timestamp?) throws {
    let paths = store.batches.first { $0.id == id }?.batch.mutations.map(\.path) ?? []
    if time == nil { refused += paths } else { accepted += paths }
    try run(listens.changed(store.end(id, acceptedAt: time)))
    store.collect(keeping: listens.shown)
  }
}
