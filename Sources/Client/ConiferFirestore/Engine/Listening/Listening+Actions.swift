import ConiferDocument
import ConiferDocumentSync
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import Logging

// What the listens ask for, and how it is done.
extension Listening {
  /// Carries out what the listens ask for. When a listener was told, those who wait for listeners
  /// to be in sync are told too.
  func run(_ actions: [SyncAction]) {
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
      case .tell(let id, let snapshot, let target):
        isTold = true
        let knowledge = knowledge(of: snapshot, target)
        tell(id, .success(ListenEvent(snapshot: snapshot, knowledge: knowledge)))
      case .fail(let id, let error):
        setup.logger.warning("a listener ended", metadata: ["cause": "\(error)"])
        tell(id, .failure(FirestoreError(error)))
      case .warnOffline(let cause):
        setup.logger.warning(
          "the server cannot be reached; the cache is used until it can be",
          metadata: ["cause": "\(cause)"])
      case .log(let fault):
        setup.logger.warning("what the server said is passed over", metadata: ["cause": "\(fault)"])
      }
    }
    return isTold
  }

  func tell(_ id: ListenerID, _ result: Result<ListenEvent, FirestoreError>) {
    if inner.tell(id, result) { return }
    outbox.addCall { [registry] in registry.tell(id, result) }
    outbox.callAppEarly()
  }

  /// How well the cache knows a query.
  ///
  /// - Parameter stored: what is stored of its target.
  func knowledge(of query: DocumentQuery, stored: TargetRecord?) -> QueryKnowledge {
    let row = listens.target(of: query).flatMap { targets[$0] }
    guard let record = row?.record ?? stored else { return QueryKnowledge() }
    let complete =
      listens.isSynced(query) ? listens.target(of: query).flatMap(listens.completeness) : nil
    return QueryKnowledge(
      wasEverComplete: record.isComplete,
      readTime: max(complete ?? .zero, row?.readTime ?? record.version))
  }

  /// A query was answered that nobody listens to.
  func considerIndex(_ answer: DocumentAnswer) { indexing.consider(answer) }

  /// How well the cache knows what a snapshot shows.
  private func knowledge(of snapshot: ViewSnapshot, _ target: TargetID) -> QueryKnowledge {
    let absent = absent(in: snapshot)
    guard let row = targets[target] else { return QueryKnowledge(absent: absent) }
    let isServers = !snapshot.isFromCache
    return QueryKnowledge(
      wasEverComplete: row.record.isComplete || isServers,
      readTime: targets.timeToTell(
        target, isServers ? listens.completeness(of: target) : nil),
      absent: absent)
  }

  /// What the store knows of the one document that was asked for and is not found, also by other listens
  /// and by writes made here; nil when it cannot be read.
  private func absent(in snapshot: ViewSnapshot) -> Document? {
    guard case .document(let path) = snapshot.query.source, snapshot.documents.isEmpty else {
      return nil
    }
    return try? store.read { (view, lane) throws(StoreError) in try view.document(lane, path) }
  }

  /// A query's documents are read anew; when that fails, once the storage works again.
  private func refill(_ query: DocumentQuery) -> Bool {
    do throws(StoreError) {
      return carryOut(listens.refilled(query, try read(query)))
    } catch {
      recovery.failed { [self] () throws(StoreError) in
        run(listens.refilled(query, try read(query)))
      }
      return false
    }
  }

  private func read(_ query: DocumentQuery) throws(StoreError) -> [Document] {
    let number = listens.target(of: query)
    let answer = try store.read { (view, lane) throws(StoreError) in
      try view.query(lane, query, tracked: number.flatMap { targets[$0]?.query })
    }
    indexing.consider(answer)
    return answer.documents
  }

  /// Stores an event and calls the listeners that it concerns.
  private func take(_ event: RemoteEvent) -> Bool {
    do throws(StoreError) {
      let documents = try events.take(event)
      if !event.documents.isEmpty { recovery.documentsStored() }
      let isTold = carryOut(listens.stored(event, documents))
      for id in event.targets.keys.sorted() { recordCompleteness(id) }
      return isTold
    } catch {
      // A query whose record was lost is unknown until the end of the step.
      if error.isLasting, !store.mayHaveNewIncidents() { return takeParts(of: event, error) }
      recovery.report(error, event, isHeard: true)
      return false
    }
  }

  /// Stores the documents of an event that the store accepts, when it will never accept the whole
  /// event. The listeners of the others end.
  private func takeParts(of event: RemoteEvent, _ error: StoreError) -> Bool {
    let parts = event.parts
    guard parts.count > 1 else {
      store.log("what the server said cannot be kept", error)
      let refusal = StatusError(
        .internal, "The server sent what this client cannot keep: \(error.message)")
      var isTold = false
      for target in targets(of: event) where carryOut(listens.refuse(target, refusal)) {
        isTold = true
      }
      return isTold
    }
    var isTold = false
    for part in parts where take(part) { isTold = true }
    return isTold
  }

  /// The targets whose listeners cannot be told of an event: the event's own targets or, where the
  /// event belongs to limbo or to no target, the targets whose queries cover its documents.
  private func targets(of event: RemoteEvent) -> [TargetID] {
    let limbo = Set(listens.activeLimbo.values)
    let own = event.targets.keys.filter { !limbo.contains($0) }
    guard own.isEmpty else { return own.sorted() }
    let showing = listens.queriesByTarget.filter { _, queries in
      queries.contains { query in event.documents.contains { query.source.contains($0.path) } }
    }
    return showing.isEmpty ? event.targets.keys.sorted() : showing.keys.sorted()
  }

  /// Records that the matches of a target are complete, if one of its queries is synced.
  func recordCompleteness(_ id: TargetID) {
    if let time = listens.completeness(of: id) { targets.becameComplete(id, at: time) }
  }

  /// The store lost some of the server's data, which is requested again.
  func lost() {
    _ = recovery.attempt { [self] () throws(StoreError) in
      let all = targets.all
      try targets.forget(all)
      // A lost write no longer changes the documents that are shown.
      changed(try store.known(listens.pendingPaths.sorted()), .write)
      run(listens.lost(Set(all)))
    }
  }

  /// Another process may have changed the store: the server is asked again for targets of which it has stored something.
  ///
  /// - Throws: when that cannot be read or stored; it may be called again.
  func storeChanged() throws(StoreError) {
    let changed = try targets.changedByAnother()
    guard !changed.isEmpty else { return }
    try targets.forget(changed)
    run(listens.lost(Set(changed)))
  }

  /// An event could not be stored.
  func notStored(_ event: RemoteEvent) { run(listens.notStored(event)) }
}
