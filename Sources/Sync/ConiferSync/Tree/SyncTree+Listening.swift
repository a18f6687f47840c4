package import ConiferKeyValue
package import ConiferQuery
import ConiferTree

extension SyncTree {
  /// Begins to listen.
  ///
  /// The listener is told at once what is known. A listen is started unless a view that loads all data
  /// is open here or above. A listen that loads all data ends those that it covers.
  ///
  /// - Parameters:
  ///   - id: the listener, which listens once; nothing happens when it listens already.
  ///   - target: what it listens to.
  ///   - kinds: the events that it is told.
  ///   - isSilent: whether it only keeps the data up to date: it is told nothing, and `stopAll` does not
  ///     end it.
  /// - Throws: what reading the cache throws; then nothing has changed.
  package func listen(
    _ id: ListenerID, to target: QueryTarget, kinds: DataEvent.Kinds, isSilent: Bool = false
  ) throws(StoreError) -> SyncResult {
    var result = SyncResult()
    guard viewsByListener[id] == nil else { return result }
    let view: View
    if let open = point(at: target.path)?.views.first(where: { $0.target.spec == target.spec }) {
      view = open
    } else {
      view = try open(target, into: &result)
    }
    let listener = View.Listener(id: id, kinds: kinds, isSilent: isSilent)
    view.listeners.append(listener)
    viewsByListener[id] = view
    if !isSilent { for event in view.initialEvents() { listener.tell(event, into: &result) } }
    return result
  }

  private func open(
    _ target: QueryTarget, into result: inout SyncResult
  ) throws(StoreError) -> View {
    let known = try knownServerData(target)
    let isCovered = hasWholeView(covering: target.path)
    var tag: Int?
    if !target.spec.loadsAllData {
      lastTag += 1
      tag = lastTag
    }
    let view = View(target, tag: tag, known, overlay)
    if let tag { viewsByTag[tag] = view }
    let point = makePoint(at: target.path)
    if !isCovered {
      result.started.append(view.listen)
      if view.loadsAllData {
        result.stopped = (point.views + point.topmostBelow).map(\.listen)
      }
    }
    point.views.append(view)
    return view
  }

  /// The server data for a new view: from views at and above, else from the cache, else from views below.
  private func knownServerData(_ target: QueryTarget) throws(StoreError) -> CachedNode {
    if let node = serverData(at: target.path) {
      return CachedNode(node, isComplete: true, isFiltered: false)
    }
    var known = try cache?.cached(target.normalized) ?? .unknown
    if known.isComplete { return known }
    known.isFiltered = !target.spec.loadsAllData
    for (key, child) in point(at: target.path)?.children ?? [:] {
      guard let view = child.wholeView, view.server.isComplete else { continue }
      known.node = known.node.setting(key, to: view.server.node)
    }
    return known
  }

  private func makePoint(at path: Path) -> SyncPoint {
    var point = root
    for key in path.keys {
      let next = point.children[key] ?? SyncPoint(point.path.appending(key))
      point.children[key] = next
      point = next
    }
    return point
  }

  /// Ends a listener; an unknown one is ignored.
  package func stop(_ id: ListenerID) -> SyncResult {
    var result = SyncResult()
    guard let view = viewsByListener.removeValue(forKey: id) else { return result }
    view.listeners.removeAll { $0.id == id }
    closeViews(at: view.target.path, isCancelled: false, into: &result)
    return result
  }

  /// Ends all listeners of a target but the silent ones; for the default target, all at its path.
  package func stopAll(_ target: QueryTarget) -> SyncResult {
    var result = SyncResult()
    for view in point(at: target.path)?.views ?? []
    where target.spec.isDefault || view.target.spec == target.spec {
      for listener in view.listeners where !listener.isSilent { viewsByListener[listener.id] = nil }
      view.listeners.removeAll { !$0.isSilent }
    }
    closeViews(at: target.path, isCancelled: false, into: &result)
    return result
  }

  /// Ends the listeners of a listen that the server refused or revoked, silent ones too.
  ///
  /// For the default target these are the listeners that load all data at its path; filtered ones at
  /// the path and all below get listens of their own. Nothing happens when another listen covers this
  /// one by now.
  ///
  /// - Returns: the listeners that ended, in the order in which they began, and what is to be done.
  package func cancel(_ target: QueryTarget) -> (listeners: [ListenerID], result: SyncResult) {
    func isCancelled(_ view: View) -> Bool {
      target.spec.loadsAllData ? view.loadsAllData : view.target.spec == target.spec
    }
    let path = target.path
    var listeners: [ListenerID] = []
    var result = SyncResult()
    guard let point = point(at: path), !(path.parent.map { hasWholeView(covering: $0) } ?? false)
    else {
      return (listeners, result)
    }
    let isWhole = point.wholeView.map(isCancelled) ?? true
    for view in point.views where isCancelled(view) && isWhole {
      listeners += view.listeners.map(\.id)
      view.listeners = []
    }
    for id in listeners { viewsByListener[id] = nil }
    closeViews(at: path, isCancelled: true, into: &result)
    return (listeners, result)
  }

  /// Closes the views of a path that nobody listens to.
  private func closeViews(at path: Path, isCancelled: Bool, into result: inout SyncResult) {
    guard let point = point(at: path) else { return }
    let closed = point.views.filter(\.listeners.isEmpty)
    guard !closed.isEmpty else { return }
    point.views.removeAll { $0.listeners.isEmpty }
    for tag in closed.compactMap(\.tag) { viewsByTag[tag] = nil }
    if !hasWholeView(covering: path) {
      if let whole = closed.first(where: \.loadsAllData) {
        result.started = point.topmost.map(\.listen)
        if !isCancelled { result.stopped = [whole.listen] }
      } else if !isCancelled {
        result.stopped = closed.map(\.listen)
      }
    }
    prune(path)
  }

  /// Removes the points of a path that hold nothing.
  private func prune(_ path: Path) {
    let points = points(along: path)
    for (i, key) in path.keys.enumerated().reversed() where i + 1 < points.count {
      guard points[i + 1].isEmpty else { return }
      points[i].children[key] = nil
    }
  }
}
