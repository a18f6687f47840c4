import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import Logging

extension Engine {
  /// Begins to listen for the app.
  func observe(_ registration: Registration) {
    let (id, target) = (registration.id, registration.target)
    // Ended before it began.
    guard registrations[id] != nil else { return }
    if target.path.first == .info {
      if case .closed = phase {} else { return raise(info.listen(id, target, registration.kinds)) }
    }
    switch phase {
    case .failed, .closed:
      registrations.forget(id)
      let error = phaseError
      outbox.append { registration.cancel(error) }
    case .opening, .open: listen(id, target, registration.kinds)
    }
  }

  /// Opens a view, or adds a listener to one, with what waits in the queue over it.
  func listen(
    _ id: ListenerID, _ target: QueryTarget, _ kinds: DataEvent.Kinds, isSilent: Bool = false
  ) {
    guard listeners[id] == nil else { return }
    loadQueue(touching: target.path)
    let result: SyncResult
    do throws(StoreError) {
      result = try tree.listen(id, to: target, kinds: kinds, isSilent: isSilent)
    } catch {
      setup.logger.error(
        "a listener could not begin", metadata: ["target": "\(target)", "cause": "\(error)"])
      let error = DatabaseError(error, "The cache of \(target) could not be read")
      if let registration = registrations.forget(id) {
        outbox.append { registration.cancel(error) }
      }
      return
    }
    listeners[id] = target
    if isSilent { silent.insert(id) }
    views.add(target.path)
    apply(result)
  }

  /// Whether a write of the queue has ended, so that views are to show it no longer.
  func hasEnded(_ id: OverlayID, _ lane: Lane) -> Bool {
    writes.outcome(of: OutboundWriteID(lane, id)) != nil
  }

  /// Lays what waits in the queue over a path, before a view opens there.
  private func loadQueue(touching path: Path) {
    guard !views.covers(path), let lane else { return }
    let (now, known) = (serverTime, writes)
    let entries = read { (view, lane) throws(StoreError) -> [QueueOverlay.Entry]? in
      let waiting = try view.pendingWrites(lane, touching: path)
      guard waiting.contains(where: { !known.isShown(OutboundWriteID(lane, $0)) }) else {
        return nil
      }
      var overlay = QueueOverlay(view, lane, now: now)
      return try overlay.entries(touching: path).filter { !hasEnded($0.id, lane) }
    }
    // Nothing was read that could be damaged.
    if let entries, entries == nil { return }
    for entry in (entries ?? []) ?? [] where writes.show(OutboundWriteID(lane, entry.id)) {
      tree.load(entry.id, entry.changes)
    }
    reportIncidents()
  }

  /// Ends a listener, silent ones too.
  func stop(_ id: ListenerID) {
    if info.contains(id) {
      raise(info.stop(id))
      return
    }
    guard let target = listeners.removeValue(forKey: id) else { return }
    silent.remove(id)
    views.remove(target.path)
    apply(tree.stop(id))
  }

  /// Ends all listeners of the app on a target; of a default one, all at its path.
  func stopAll(_ target: QueryTarget) {
    if target.path.first == .info {
      raise(info.stopAll(target))
      return
    }
    for (id, other) in listeners
    where other.path == target.path && (target.spec.isDefault || other == target)
      && !silent.contains(id)
    {
      listeners[id] = nil
      views.remove(other.path)
    }
    apply(tree.stopAll(target))
  }

  /// Does what a step of the tree asks for.
  func apply(_ result: SyncResult) {
    for listen in result.started { start(listen) }
    for listen in result.stopped { end(listen) }
    // What a listen that is new to the store begins with is there already.
    let started = Set(result.started.map(\.target))
    store(
      result.windows.filter {
        !started.contains($0.target) || active[$0.target]?.stored != nil
      })
    raise(result)
  }

  /// Hands events to the listeners; those of a step stay in order.
  func raise(_ result: SyncResult) { raise(result.events) }

  func raise(_ events: [SyncResult.Raised]) {
    for raised in events {
      guard let registration = registrations[raised.listener] else { continue }
      let event = raised.event
      guard registration.isOnce else {
        outbox.append { registration.raise(event) }
        continue
      }
      outbox.append { [registrations] in
        registration.raise(event)
        registrations.forget(registration.id)
      }
      post(.stop(raised.listener))
    }
  }

  // MARK: Listens at the server

  /// Asks the server for a listen; what it gives is stored and kept from eviction meanwhile.
  private func start(_ listen: Listen) {
    active[listen.target] = ActiveQuery(listen: listen)
    if let tag = listen.tag { tags[tag] = listen.target }
    track(listen)
    tell(.listen(listen))
  }

  private func end(_ listen: Listen) {
    if let tag = listen.tag { tags[tag] = nil }
    // A listen that began anew in the same step has another tag.
    if active[listen.target]?.listen == listen,
      let query = active.removeValue(forKey: listen.target)
    {
      forget(query)
    }
    tell(.unlisten(listen))
  }

  private func forget(_ query: ActiveQuery) {
    if let tag = query.listen.tag { tags[tag] = nil }
    guard let stored = query.stored, let backend else { return }
    backend.setActive(false, stored.id, in: stored.query.tree)
  }

  /// Finds or makes the record of a listen's query, and marks it active.
  private func track(_ listen: Listen) {
    let (path, parameters) = (listen.target.path, listen.target.spec.identifier)
    guard let backend, let lane else { return }
    let stored = read { (view, lane) throws(StoreError) in
      try view.trackedQuery(lane.tree, path, parameters)
    }
    if let stored, let stored, backend.setActive(true, stored.id, in: lane.tree) {
      active[listen.target]?.record = .stored(stored)
      return
    }
    let query = TrackedQuery(tree: lane.tree, path: path, parameters: parameters)
    active[listen.target]?.record = .new(query)
    if !query.isDefault { number(listen, query) }
  }

  /// The server no longer allows a listen: its listeners end with an error.
  func cancel(_ target: QueryTarget, _ error: DatabaseError) {
    let (ended, result) = tree.cancel(target)
    // The server knows it no longer: what is stored of it may be evicted, and gets may renew it.
    if let query = active.removeValue(forKey: target.normalized) { forget(query) }
    for id in ended {
      if let target = listeners.removeValue(forKey: id) { views.remove(target.path) }
      silent.remove(id)
      if let pin = pins.first(where: { $0.value == id })?.key { pinRefused(pin, error) }
      guard let registration = registrations.forget(id) else { continue }
      outbox.append { registration.cancel(error) }
    }
    apply(result)
  }
}
