package import ConiferDocument
package import ConiferWire

/// A state machine for all listens of one client. It connects views, listeners, the stream of
/// listens, documents in limbo and the online state. It does no I/O: it returns the actions that
/// the caller performs.
package struct ListenMachine: Sendable {
  /// A view whose changes wait for its documents to be read anew.
  struct Refill: Sendable {
    var changes: ViewChanges
    /// The server's event, if it changed the documents. If the view went offline since then, the
    /// event no longer makes it current.
    var event: RemoteEvent?
    /// What changed the documents.
    var cause: ChangeCause
  }

  struct Listener: Sendable {
    let id: ListenerID
    let source: ListenOptions.Source
    var gate: ListenerGate
  }

  struct Listened: Sendable {
    let query: DocumentQuery
    var view: QueryView
    let target: TargetID
    var listeners: [Listener] = []
    var refill: Refill?
  }

  /// What is listened to, by the numbers of the views: they are in the order of listening.
  var listened: [ViewNumber: Listened] = [:]
  /// The view of each query that is listened to.
  var views: [DocumentQuery: ViewNumber] = [:]
  /// The views by where their queries look for documents.
  var sources = ListenedSources()
  /// The views that hold results of accepted writes back until the server has sent them.
  private var holding: Set<ViewNumber> = []
  /// The view of each listener.
  var viewOf: [ListenerID: ViewNumber] = [:]
  /// The number of each target.
  var numbers: [DocumentTarget: TargetID] = [:]
  /// The views of a target, in the order in which they came.
  var viewsByTarget: [TargetID: [ViewNumber]] = [:]
  private var nextTarget: TargetID
  private var nextView: ViewNumber = 0
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
  var matched: WatchAggregator.Matched {
    { [limbo, viewsByTarget, listened] target in
      if let found = limbo.matched(target) { return MatchedPaths(found) }
      let own = viewsByTarget[target] ?? []
      // Most targets have one query, and this is called for each document that the server sends.
      if own.count == 1 {
        return listened.index(forKey: own[0]).map { listened.values[$0].view.matchedPaths } ?? []
      }
      let keys = own.compactMap { listened[$0]?.view.matchedPaths }
      return MatchedPaths(keys.reduce(into: Set()) { $0.formUnion($1.hashed) })
    }
  }

  // MARK: Listeners

  /// The number of a query's target, if the query is listened to.
  package func target(of query: DocumentQuery) -> TargetID? {
    views[query].flatMap { listened[$0]?.target }
  }

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
    let number: ViewNumber
    let target: TargetID
    var actions: [SyncAction] = []
    if let known = numbers[query.target], targets[known] == nil {
      // Its listeners may show what the server said before it was asked no longer.
      for view in viewsByTarget[known] ?? [] { actions += goOffline(view) }
    }
    if let known = views[query], let item = listened[known] {
      (number, target) = (known, item.target)
      first = gate.take(item.view.snapshot)
    } else {
      let stored = stored()
      request = stored
      var view = QueryView(query, matchedPaths: stored.matched)
      target = self.number(of: query.target, reusing)
      // A mirrored query has the same target, which may be current already.
      let sibling = viewsByTarget[target]?.first.flatMap { listened[$0]?.view }
      let change = TargetChange(
        resumeToken: stored.resumeToken,
        isCurrent: targets[target] != nil && sibling?.isSynced == true)
      let update = view.apply(view.changes(shared(stored.documents, in: query.source)), change)
      first = update.snapshot.flatMap { gate.take($0) }
      number = nextView
      nextView += 1
      viewsByTarget[target, default: []].append(number)
      listened[number] = Listened(query: query, view: view, target: target)
      views[query] = number
      sources.add(query.source, number)
    }
    viewOf[id] = number
    listened[number]?.listeners.append(Listener(id: id, source: options.source, gate: gate))
    if let first { actions.append(.tell(id, first, target)) }
    if options.source == .default, targets[target] == nil {
      let request = request ?? stored()
      actions += syncActions(
        watch.listen(
          WatchTarget(
            target, query.target, resumeToken: request.resumeToken, version: request.version),
          matched: matched))
    }
    return actions
  }

  /// Replaces documents by equal ones of a view of the same source, so that documents that several
  /// views show are in memory once.
  private func shared(
    _ documents: [Document], in source: DocumentQuery.Source
  ) -> [Document] {
    guard let other = sources.first(in: source).flatMap({ listened[$0]?.view.documents }),
      !other.isEmpty
    else { return documents }
    return documents.map { document in
      guard let known = other[document.path], known == document else { return document }
      return known
    }
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
    guard let number = viewOf.removeValue(forKey: id), let target = listened[number]?.target else {
      return []
    }
    listened[number]?.listeners.removeAll { $0.id == id }
    var actions: [SyncAction] = []
    let isWatched = (viewsByTarget[target] ?? []).contains { view in
      listened[view]?.listeners.contains { $0.source == .default } == true
    }
    if !isWatched {
      actions += syncActions(watch.unlisten(target))
      for view in viewsByTarget[target] ?? [] {
        listened[view]?.view.stopBeingCurrent()
        actions += syncActions(limbo.viewEnded(view))
      }
    }
    if listened[number]?.listeners.isEmpty == true { actions += end(number) }
    return watch.isOnlineStateUnknown ? actions + announce(online.set(.unknown)) : actions
  }

  /// A view ends, and its target with the last one.
  mutating func end(_ number: ViewNumber) -> [SyncAction] {
    guard let ended = listened.removeValue(forKey: number) else { return [] }
    views[ended.query] = nil
    holding.remove(number)
    sources.remove(ended.query.source, number)
    viewsByTarget[ended.target]?.removeAll { $0 == number }
    var actions = syncActions(limbo.viewEnded(number))
    if viewsByTarget[ended.target]?.isEmpty == true {
      viewsByTarget[ended.target] = nil
      let target = ended.view.target
      numbers[target] = nil
      actions.append(.release(target))
    }
    return actions
  }

  // MARK: Documents

  /// Documents changed because a write was made, accepted or refused, or another user is signed in. Waiting writes are
  /// applied to them.
  package mutating func changed(_ documents: [Document], _ cause: ChangeCause) -> [SyncAction] {
    take(documents, cause, nil)
  }

  /// The store has taken in an event.
  ///
  /// - Parameters:
  ///   - event: the event.
  ///   - documents: the changed documents, with the waiting writes applied.
  package mutating func stored(_ event: RemoteEvent, _ documents: [Document]) -> [SyncAction] {
    watch.stored(event)
    limbo.stored(event)
    var actions = take(documents, .server, event)
    // The server refused to send a document: it is no longer listened to, whether it is in limbo
    // or not.
    if event.version == .zero {
      for path in event.resolvedLimbo {
        if let target = limbo.activeTargets[path] { actions += syncActions(limbo.refused(target)) }
      }
    }
    return actions
  }

  /// The answer to `read`: the query's documents, with the writes that wait.
  package mutating func refilled(
    _ query: DocumentQuery, _ documents: [Document]
  ) -> [SyncAction] {
    guard let number = views[query], let item = listened[number], let refill = item.refill else {
      return []
    }
    listened[number]?.refill = nil
    let changes = item.view.changes(
      documents, refill.cause, after: refill.changes, asOf: moment(of: item.target, refill.event),
      refill.event?.targets[item.target])
    return finish(number, changes, refill.event)
  }

  /// An event could not be stored. Targets that the server refused are asked for again, so that
  /// the server repeats the refusal. The caller closes the stream, so that the server sends the
  /// rest again.
  package mutating func notStored(_ event: RemoteEvent) -> [SyncAction] {
    event.resolvedLimbo.sorted().flatMap { path -> [SyncAction] in
      guard let target = limbo.activeTargets[path], targets[target] == nil else { return [] }
      return syncActions(watch.listen(limbo.request(path, target), matched: matched))
    }
  }

  /// The documents with waiting writes that views show.
  package var pendingPaths: Set<DocumentPath> {
    listened.values.reduce(into: []) { $0.formUnion($1.view.pendingPaths) }
  }

  /// The store lost some of what it had: these targets are asked for anew.
  package mutating func lost(_ targets: Set<TargetID>) -> [SyncAction] {
    syncActions(watch.lost(targets, matched: matched))
  }

  /// The data of a target can never be stored, so its listeners end.
  package mutating func refuse(_ target: TargetID, _ error: StatusError) -> [SyncAction] {
    syncActions(watch.unlisten(target)) + refused(target, error)
  }

  private mutating func take(
    _ documents: [Document], _ cause: ChangeCause, _ event: RemoteEvent?
  ) -> [SyncAction] {
    var actions: [SyncAction] = []
    for (number, documents) in affected(by: documents, event) {
      // No copy of the view is held, so that it is changed in place.
      guard let place = listened.index(forKey: number) else { continue }
      let target = listened.values[place].target
      let waiting = listened.values[place].refill
      let changes = listened.values[place].view.changes(
        documents, cause, after: waiting?.changes, asOf: moment(of: target, event),
        event?.targets[target])
      if let waiting {
        // The requested read has not finished yet; its result will also cover these changes.
        listened.values[place].refill = Refill(
          changes: changes, event: event ?? waiting.event,
          cause: waiting.cause == .user ? .user : cause)
      } else if changes.needsRefill {
        listened.values[place].refill = Refill(changes: changes, event: event, cause: cause)
        actions.append(.read(listened.values[place].query))
      } else {
        actions += finish(number, changes, event)
      }
    }
    return actions
  }

  /// The views that changed documents or an event can concern, in their order, each with its documents.
  private func affected(
    by documents: [Document], _ event: RemoteEvent?
  ) -> [(number: ViewNumber, documents: ArraySlice<Document>)] {
    var found: [ViewNumber: ArraySlice<Document>] = [:]
    sources.forEach(affectedBy: documents) { number, documents in
      if found[number]?.append(contentsOf: documents) == nil { found[number] = documents }
    }
    let told = event.map { Set($0.targets.keys).union($0.mismatches.keys) } ?? []
    for target in told {
      for number in viewsByTarget[target] ?? [] where found[number] == nil { found[number] = [] }
    }
    if event != nil { for number in holding where found[number] == nil { found[number] = [] } }
    return found.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Up to when the server has said everything of a target with an event. An answer to a write alone says nothing of targets.
  private func moment(of target: TargetID, _ event: RemoteEvent?) -> Timestamp? {
    event == nil ? nil : watch.completeness(of: target)
  }

  private mutating func finish(
    _ number: ViewNumber, _ changes: ViewChanges, _ event: RemoteEvent?
  ) -> [SyncAction] {
    guard let place = listened.index(forKey: number) else { return [] }
    let target = listened.values[place].target
    let update = listened.values[place].view.apply(
      changes, event?.targets[target], isPendingReset: event?.mismatches[target] != nil)
    if !listened.values[place].view.heldResults.isEmpty {
      holding.insert(number)
    } else if !holding.isEmpty {
      holding.remove(number)
    }
    let asked = syncActions(
      limbo.viewChanged(number, into: update.intoLimbo, outOf: update.outOfLimbo))
    return asked + tell(number, update.snapshot)
  }

  mutating func tell(_ number: ViewNumber, _ snapshot: ViewSnapshot?) -> [SyncAction] {
    guard let snapshot, let place = listened.index(forKey: number) else { return [] }
    let target = listened.values[place].target
    var actions: [SyncAction] = []
    // A view is found once, however many listen to it.
    for index in listened.values[place].listeners.indices {
      if let told = listened.values[place].listeners[index].gate.take(snapshot) {
        actions.append(.tell(listened.values[place].listeners[index].id, told, target))
      }
    }
    return actions
  }
}
