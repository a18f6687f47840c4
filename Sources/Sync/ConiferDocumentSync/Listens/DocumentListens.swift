package import ConiferDocument
package import ConiferWire

/// The listens of a client of documents: joins views, listeners, what the server is asked for and what it
/// says, limbo, and whether the server can be reached.
package struct DocumentListens: Sendable {
  /// A view whose changes wait for its documents to be read anew.
  struct Refill: Sendable {
    var changes: ViewChanges
    /// What the server said, if that changed the documents; a view that went offline since is not current by it.
    var event: RemoteEvent?
  }

  struct Listener: Sendable {
    let id: ListenerID
    let source: ListenOptions.Source
    var gate: ListenerGate
  }

  struct Listened: Sendable {
    var view: QueryView
    let target: TargetID
    /// The view's number: in the order of listening, and among the views with documents in limbo.
    let number: TargetID
    var listeners: [Listener] = []
    var refill: Refill?
  }

  var listened: [DocumentQuery: Listened] = [:]
  /// The queries that are listened to, by where they look for documents.
  var sources = ListenedSources()
  /// What a listener listens to.
  var queryOf: [ListenerID: DocumentQuery] = [:]
  /// The number of each target.
  var numbers: [DocumentTarget: TargetID] = [:]
  /// The queries of a target, in the order in which they came.
  var queries: [TargetID: [DocumentQuery]] = [:]
  private var nextTarget: TargetID
  private var nextNumber: TargetID = 0
  var watch: WatchMachine
  var limbo: LimboQueue
  var online = OnlineTracker()

  /// - Parameters:
  ///   - database: the database that documents are in.
  ///   - newestTarget: the greatest number that a target ever had, even.
  ///   - storedVersion: the newest moment of the server's that the store knows.
  ///   - limboLimit: how many documents in limbo are listened to at once.
  package init(
    _ database: DatabaseID, newestTarget: TargetID = 0, storedVersion: Timestamp = .zero,
    limboLimit: Int = 100
  ) {
    nextTarget = newestTarget + 2
    watch = WatchMachine(database, storedVersion: storedVersion)
    limbo = LimboQueue(database, limit: limboLimit)
  }

  /// What the server is asked for.
  package var targets: [TargetID: WatchTarget] { watch.targets }
  /// The documents in limbo that are listened to.
  package var activeLimbo: [DocumentPath: TargetID] { limbo.activeTargets }
  /// The documents in limbo that wait, in order.
  package var waitingLimbo: [DocumentPath] { limbo.waitingPaths }
  /// Whether the server can be reached.
  package var onlineState: OnlineState { online.state }
  /// When `tick` is to be called.
  package var deadline: Milliseconds? { online.deadline }
  /// The documents that the server said match a target, up to the last event that is stored.
  var matched: (TargetID) -> Set<DocumentPath> {
    { [limbo, queries, listened] target in
      if let found = limbo.matched(target) { return found }
      let own = queries[target] ?? []
      // Most targets have one query, and this is asked for each document that the server tells.
      if own.count == 1 { return listened[own[0]]?.view.syncedKeys ?? [] }
      let keys = own.compactMap { listened[$0]?.view.syncedKeys }
      return keys.dropFirst().reduce(keys.first ?? []) { $0.union($1) }
    }
  }

  // MARK: Listeners

  /// The number of a query's target, if the query is listened to.
  package func target(of query: DocumentQuery) -> TargetID? { listened[query]?.target }

  /// Somebody listens.
  ///
  /// - Parameters:
  ///   - id: the listener.
  ///   - query: what is listened to.
  ///   - options: how.
  ///   - stored: what the store has; not needed when the query is listened to already.
  ///   - reusing: the number that the target had before, if the store knows it.
  package mutating func listen(
    _ id: ListenerID, _ query: DocumentQuery, _ options: ListenOptions,
    stored: @autoclosure () -> StoredQuery, reusing: TargetID? = nil
  ) -> [SyncAction] {
    var gate = ListenerGate(options, online.state)
    let first: ViewSnapshot?
    var request: StoredQuery?
    if let known = listened[query] {
      first = gate.take(known.view.snapshot)
    } else {
      let stored = stored()
      request = stored
      var view = QueryView(query, syncedKeys: stored.matched)
      let target = number(of: query.target, reusing)
      // A mirrored query has the same target, which may be current already.
      let sibling = queries[target]?.first.flatMap { listened[$0]?.view }
      let change = TargetChange(
        resumeToken: stored.resumeToken, isCurrent: sibling?.isSynced ?? false)
      let update = view.apply(view.changes(stored.documents), change)
      first = update.snapshot.flatMap { gate.take($0) }
      queries[target, default: []].append(query)
      listened[query] = Listened(view: view, target: target, number: nextNumber)
      sources.add(query, nextNumber)
      nextNumber += 1
    }
    queryOf[id] = query
    listened[query]?.listeners.append(Listener(id: id, source: options.source, gate: gate))
    var actions = first.map { [SyncAction.tell(id, $0)] } ?? []
    if options.source == .default, let target = listened[query]?.target, targets[target] == nil {
      let request = request ?? stored()
      actions += actionsOf(
        watch.listen(
          WatchTarget(
            target, query.target, resumeToken: request.resumeToken, version: request.version),
          matched: matched))
    }
    return actions
  }

  private mutating func number(of target: DocumentTarget, _ reusing: TargetID?) -> TargetID {
    if let shared = numbers[target] { return shared }
    let number = reusing ?? nextTarget
    if reusing == nil { nextTarget += 2 }
    numbers[target] = number
    return number
  }

  /// Somebody listens no longer.
  package mutating func unlisten(_ id: ListenerID) -> [SyncAction] {
    guard let query = queryOf.removeValue(forKey: id), let target = listened[query]?.target else {
      return []
    }
    listened[query]?.listeners.removeAll { $0.id == id }
    var actions: [SyncAction] = []
    let isWatched = (queries[target] ?? []).contains { query in
      listened[query]?.listeners.contains { $0.source == .default } == true
    }
    if !isWatched { actions += actionsOf(watch.unlisten(target)) }
    if listened[query]?.listeners.isEmpty == true { actions += end(query) }
    return watch.isBlind ? actions + announce(online.set(.unknown)) : actions
  }

  /// A query's view ends, and its target with the last one.
  mutating func end(_ query: DocumentQuery) -> [SyncAction] {
    guard let ended = listened.removeValue(forKey: query) else { return [] }
    sources.remove(query, ended.number)
    queries[ended.target]?.removeAll { $0 == query }
    var actions = actionsOf(limbo.viewEnded(ended.number))
    if queries[ended.target]?.isEmpty == true {
      queries[ended.target] = nil
      numbers[query.target] = nil
      actions.append(.release(query.target))
    }
    return actions
  }

  // MARK: Documents

  /// Documents are others than before, with the writes that wait: a write was made, accepted or refused.
  package mutating func changed(_ documents: [Document]) -> [SyncAction] {
    take(documents, nil)
  }

  /// The store has taken in an event.
  ///
  /// - Parameters:
  ///   - event: the event.
  ///   - documents: the documents that are others than before, with the writes that wait.
  package mutating func stored(_ event: RemoteEvent, _ documents: [Document]) -> [SyncAction] {
    watch.stored(event)
    limbo.stored(event)
    var actions = take(documents, event)
    // The server refused to tell of a document: it is listened to no longer, be it in limbo or not.
    if event.version == .zero {
      for path in event.resolvedLimbo {
        if let target = limbo.activeTargets[path] { actions += actionsOf(limbo.refused(target)) }
      }
    }
    return actions
  }

  /// The answer to `read`: the query's documents, with the writes that wait.
  package mutating func refilled(
    _ query: DocumentQuery, _ documents: [Document]
  ) -> [SyncAction] {
    guard let item = listened[query], let refill = item.refill else { return [] }
    listened[query]?.refill = nil
    return finish(query, item.view.changes(documents, after: refill.changes), refill.event)
  }

  /// The server's event could not be stored: what was refused is asked for again, so that the server refuses it once
  /// more. The caller closes the stream, so that all else is said again.
  package mutating func notStored(_ event: RemoteEvent) -> [SyncAction] {
    event.resolvedLimbo.sorted().flatMap { path -> [SyncAction] in
      guard let target = limbo.activeTargets[path], targets[target] == nil else { return [] }
      return actionsOf(watch.listen(limbo.request(path, target), matched: matched))
    }
  }

  /// The documents with waiting writes that views show.
  package var pendingPaths: Set<DocumentPath> {
    listened.values.reduce(into: []) { $0.formUnion($1.view.mutatedKeys) }
  }

  /// The store lost some of what it had: all that is listened to is asked for anew.
  package mutating func lost() -> [SyncAction] { actionsOf(watch.lost(matched: matched)) }

  /// What the server says of a target can never be stored: its listeners end.
  package mutating func refuse(_ target: TargetID, _ error: StatusError) -> [SyncAction] {
    actionsOf(watch.unlisten(target)) + refused(target, error)
  }

  private mutating func take(_ documents: [Document], _ event: RemoteEvent?) -> [SyncAction] {
    concerned(by: documents, event).flatMap { query, documents -> [SyncAction] in
      let waiting = listened[query]?.refill
      guard let changes = listened[query]?.view.changes(documents, after: waiting?.changes) else {
        return []
      }
      if let waiting {
        // The read that was asked for has not come yet: it is for these changes, too.
        listened[query]?.refill = Refill(changes: changes, event: event ?? waiting.event)
        return []
      }
      guard changes.needsRefill else { return finish(query, changes, event) }
      listened[query]?.refill = Refill(changes: changes, event: event)
      return [.read(query)]
    }
  }

  /// The queries that changed documents or an event can concern, in their order, each with its documents.
  private func concerned(
    by documents: [Document], _ event: RemoteEvent?
  ) -> [(query: DocumentQuery, documents: [Document])] {
    var found: [TargetID: (query: DocumentQuery, documents: [Document])] = [:]
    for document in documents {
      sources.forEach(concernedBy: document.path) { entry in
        found[entry.number, default: (entry.query, [])].documents.append(document)
      }
    }
    let told = event.map { Set($0.targets.keys).union($0.mismatches.keys) } ?? []
    for target in told {
      for query in queries[target] ?? [] {
        guard let number = listened[query]?.number, found[number] == nil else { continue }
        found[number] = (query, [])
      }
    }
    return found.sorted { $0.key < $1.key }.map(\.value)
  }

  private mutating func finish(
    _ query: DocumentQuery, _ changes: ViewChanges, _ event: RemoteEvent?
  ) -> [SyncAction] {
    guard let target = listened[query]?.target, let number = listened[query]?.number else {
      return []
    }
    let update = listened[query]?.view.apply(
      changes, event?.targets[target], isPendingReset: event?.mismatches[target] != nil)
    guard let update else { return [] }
    let asked = actionsOf(
      limbo.viewChanged(number, into: update.intoLimbo, outOf: update.outOfLimbo))
    return asked + tell(query, update.snapshot)
  }

  mutating func tell(_ query: DocumentQuery, _ snapshot: ViewSnapshot?) -> [SyncAction] {
    guard let snapshot, let place = listened.index(forKey: query) else { return [] }
    var actions: [SyncAction] = []
    // A query is found once, however many listen to it.
    for index in listened.values[place].listeners.indices {
      if let told = listened.values[place].listeners[index].gate.take(snapshot) {
        actions.append(.tell(listened.values[place].listeners[index].id, told))
      }
    }
    return actions
  }
}

// What is known of what is listened to.
extension DocumentListens {
  /// The queries that listen by each target.
  package var queriesByTarget: [TargetID: [DocumentQuery]] { queries }

  /// The number of the target that a listener has; nil for one of the store alone, or none.
  package func target(of listener: ListenerID) -> TargetID? {
    guard let query = queryOf[listener], let item = listened[query],
      item.listeners.contains(where: { $0.id == listener && $0.source == .default })
    else { return nil }
    return item.target
  }

  /// What a listener listens to; nil when there is no such listener.
  package func query(of listener: ListenerID) -> DocumentQuery? { queryOf[listener] }

  /// Whether a query shows all that the server says it gives.
  package func isSynced(_ query: DocumentQuery) -> Bool {
    guard let item = listened[query], item.refill == nil else { return false }
    return item.view.isSynced
  }

  /// Whether a view shows a document, or the server says that it matches a query.
  package func needs(_ path: DocumentPath) -> Bool {
    var isNeeded = false
    sources.forEach(concernedBy: path) { entry in
      guard !isNeeded, let view = listened[entry.query]?.view else { return }
      isNeeded = view.documents[path] != nil || view.syncedKeys.contains(path)
    }
    return isNeeded
  }

  /// The documents that a query shows, and those that the server says match it.
  package func documents(of query: DocumentQuery) -> Set<DocumentPath> {
    guard let view = listened[query]?.view else { return [] }
    return view.syncedKeys.union(view.documents.lazy.map(\.path))
  }

  /// Where the queries that are listened to look for documents.
  package var listenedSources: Set<DocumentQuery.Source> { sources.all }
}
