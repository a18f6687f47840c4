package import ConiferKeyValue
package import ConiferQuery
package import ConiferTree

/// What a client knows of one database while it runs: the open views, the server's data in them, and
/// the pending writes over it.
///
/// Every change returns what its owner is to do, as values; the tree itself sends, stores and calls
/// nothing. It belongs to one executor. The cost of a write, an acknowledgement or a revert depends on
/// the data it touches, not on the number of pending writes.
///
/// It alone knows who listens to what, silent listeners included, and so where views are open.
package final class SyncTree {
  private let cache: (any ServerCache)?
  let overlay = Overlay()
  private(set) var views: OpenViews
  private let times: ServerTimes

  /// A tree without views and writes.
  ///
  /// - Parameters:
  ///   - cache: where views find data of earlier listens, if anywhere.
  ///   - times: what the server's time is, and when it spoke for views that are closed.
  package init(cache: (any ServerCache)?, times: ServerTimes = ServerTimes()) {
    self.cache = cache
    self.times = times
    views = OpenViews(times)
  }

  /// Brings a view up to date, and adds its events to the result.
  private func refresh(_ view: View, _ paths: [Path], into result: inout SyncResult) {
    guard !paths.isEmpty else { return }
    for event in view.refresh(paths, overlay) {
      for listener in view.listeners { listener.tell(event, into: &result) }
    }
  }
}

// MARK: Listeners

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
  /// - Throws: what reading the cache throws; then nothing has changed.
  package func listen(
    _ id: ListenerID, to target: QueryTarget, kinds: DataEvent.Kinds
  ) throws(StoreError) -> SyncResult {
    var result = SyncResult()
    guard !contains(id) else { return result }
    let listener = View.Listener(id: id, kinds: kinds)
    var view = views.add(listener, to: target)
    if view == nil {
      let known = try knownServerData(target)
      view = views.open(target, for: listener, known, overlay, into: &result)
    }
    if let view, !id.isSilent {
      for event in view.initialEvents(overlay) { listener.tell(event, into: &result) }
    }
    return result
  }

  /// The server data for a new view: from views at and above, else from the cache, else from views below.
  private func knownServerData(_ target: QueryTarget) throws(StoreError) -> CachedNode {
    if let known = views.serverData(at: target.path) {
      return CachedNode(
        known.node, isComplete: true, isFiltered: false, serverTime: known.view.contact.time)
    }
    var known = try cache?.cached(target.normalized) ?? .unknown
    if known.isComplete { return known }
    known.isFiltered = !target.spec.loadsAllData
    for (key, view) in views.wholeChildren(of: target.path) where view.server.isComplete {
      known.node = known.node.setting(key, to: view.server.node)
    }
    return known
  }

  /// The connection broke: what views show is not current until the server has answered their listens again.
  package func disconnected() { views.disconnected() }

  /// Ends a listener; an unknown one is ignored.
  package func stop(_ id: ListenerID) -> SyncResult { views.stop(id) }

  /// Ends all listeners of a target but the silent ones; for the default target, all at its path.
  package func stopAll(_ target: QueryTarget) -> SyncResult { views.stopAll(target) }

  /// Ends the listeners of a listen that the server refused or revoked, silent ones too.
  ///
  /// For the default target these are the listeners that load all data at its path; filtered ones at
  /// the path and all below get listens of their own. Nothing happens when another listen covers this
  /// one by now.
  ///
  /// - Returns: the listeners that ended, in the order in which they began, and what is to be done.
  package func cancel(_ target: QueryTarget) -> (listeners: [ListenerID], result: SyncResult) {
    views.cancel(target)
  }
}

// MARK: The server's data

extension SyncTree {
  /// Takes in a node from the server.
  ///
  /// - Parameters:
  ///   - path: where; absolute.
  ///   - node: the node.
  ///   - tag: the only filtered listen that it belongs to; an unknown one is ignored.
  package func overwrite(_ path: Path, _ node: Node, tag: Int? = nil) -> SyncResult {
    receive([NodeChange(path, node)], isMerge: false, tag: tag)
  }

  /// Takes in several nodes from the server.
  ///
  /// - Parameters:
  ///   - path: what the changes are relative to; absolute.
  ///   - changes: the nodes.
  ///   - tag: as in `overwrite`.
  package func merge(_ path: Path, _ changes: [NodeChange], tag: Int? = nil) -> SyncResult {
    let absolute = changes.map { NodeChange(path.appending($0.path), $0.node) }
    return receive(absolute, isMerge: true, tag: tag)
  }

  /// Takes in ranges of a node, in answer to a listen with a compound hash; ignored without a view of
  /// that listen.
  ///
  /// - Parameters:
  ///   - path: the listen's path.
  ///   - ranges: the ranges, which replace what the view's server data has there, in order.
  ///   - tag: as in `overwrite`.
  package func mergeRanges(_ path: Path, _ ranges: [RangeMerge], tag: Int? = nil) -> SyncResult {
    let view = tag.map { views.view(tagged: $0) } ?? view(of: QueryTarget(path))
    guard let view, view.target.path == path else { return SyncResult() }
    let node = ranges.reduce(view.server.sent) { $1.applied(to: $0) }
    return overwrite(path, node, tag: tag)
  }

  /// The data of a listen is complete: the view has what the server has. Ignored without a
  /// view of that listen.
  package func complete(_ target: QueryTarget) -> SyncResult {
    guard let view = view(of: target) else { return SyncResult() }
    if view.loadsAllData {
      // This is new to filtered views at the path and to all views below.
      return overwrite(target.path, view.server.sent)
    }
    var result = SyncResult()
    view.server.confirm()
    view.contact.hear(at: times.now, isWhole: true)
    publish(view, [.root], into: &result)
    return result
  }

  private func receive(_ changes: [NodeChange], isMerge: Bool, tag: Int?) -> SyncResult {
    var result = SyncResult()
    let now = times.now
    guard let tag else {
      views.visit(changes) { view, changes in
        let paths = view.server.receive(changes, isMerge: isMerge, isTagged: false)
        view.contact.hear(at: now, isWhole: changes.contains { $0.path.isRoot })
        publish(view, paths, into: &result)
      }
      return result
    }
    // Late data of a filtered listen is ignored where a listen for all data at the path or above is
    // complete.
    guard let view = views.view(tagged: tag),
      !views.contains(
        covering: view.target.path, where: { $0.loadsAllData && $0.server.isConfirmed })
    else { return result }
    let relative = changes.compactMap { change in
      change.path.relative(to: view.target.path).map { NodeChange($0, change.node) }
    }
    let paths = view.server.receive(relative, isMerge: isMerge, isTagged: true)
    view.contact.hear(at: now, isWhole: relative.contains { $0.path.isRoot })
    publish(view, paths, into: &result)
    return result
  }

  private func publish(_ view: View, _ paths: [Path], into result: inout SyncResult) {
    if let window = view.takeWindowChange() { result.windowChanges.append(window) }
    refresh(view, paths, into: &result)
  }
}

// MARK: Pending writes

extension SyncTree {
  /// Lays a write over the views.
  ///
  /// - Parameters:
  ///   - position: its position among all; a known one is ignored.
  ///   - changes: the new nodes by absolute paths, without server values; none contains another.
  ///   - isVisible: whether views show it; otherwise only questions that ask for it do.
  package func write(
    _ position: LanePosition, _ changes: [NodeChange], isVisible: Bool = true
  ) -> SyncResult {
    var result = SyncResult()
    guard overlay.add(position, changes, isVisible: isVisible), isVisible else { return result }
    views.visit(changes) { view, changes in refresh(view, changes.map(\.path), into: &result) }
    return result
  }

  /// Lays an earlier queued write over views that open later; raises no events.
  ///
  /// - Parameters:
  ///   - position: its position among all; a known one is ignored.
  ///   - changes: as in `write`.
  package func load(_ position: LanePosition, _ changes: [NodeChange]) {
    _ = overlay.add(position, changes, isVisible: true)
  }

  /// Whether a write lies over the views.
  package func holds(_ position: LanePosition) -> Bool { overlay.contains(position) }

  /// Copies the visible writes at, above or below a path into another tree without views.
  ///
  /// - Parameters:
  ///   - path: where.
  ///   - other: the tree; writes that it has stay as they are.
  ///   - isWanted: which writes.
  package func copyWrites(
    touching path: Path, to other: SyncTree, where isWanted: (LanePosition) -> Bool = { _ in true }
  ) {
    func touches(_ change: NodeChange) -> Bool {
      change.path.contains(path) || path.contains(change.path)
    }
    for write in overlay.visible
    where isWanted(write.position) && write.changes.contains(where: touches) {
      _ = other.overlay.add(write.position, write.changes, isVisible: true)
    }
  }

  /// Removes a write that the server has applied; the server's data came before. An unknown one is
  /// ignored.
  ///
  /// - Parameters:
  ///   - position: its position among all.
  /// - isDataMissing: whether the server's data for it has not come yet. The write then counts as
  ///   the server's data until the listens are answered.
  package func acknowledge(_ position: LanePosition, isDataMissing: Bool = false) -> SyncResult {
    var result = SyncResult()
    guard let write = overlay.remove(position), write.isVisible else { return result }
    views.visit(write.changes) { view, changes in
      let dropped = view.server.adopt(changes, isDataMissing: isDataMissing)
      if !dropped.isEmpty { refresh(view, dropped, into: &result) }
    }
    reveal(write, into: &result)
    return result
  }

  /// Takes a write back; an unknown one is ignored.
  package func revert(_ position: LanePosition) -> SyncResult {
    var result = SyncResult()
    if let write = overlay.remove(position), write.isVisible { reveal(write, into: &result) }
    return result
  }

  /// Reverts all writes, hidden ones too.
  package func revertAll() -> SyncResult { hide(overlay.removeAll()) }

  /// Reverts the writes of the queue; those of transactions stay.
  package func revertQueued() -> SyncResult { hide(overlay.removeQueued()) }

  /// Shows what removed writes covered.
  private func hide(_ removed: [Overlay.Write]) -> SyncResult {
    var result = SyncResult()
    let changes = removed.filter(\.isVisible).flatMap(\.changes)
    views.visit(changes) { view, changes in refresh(view, changes.map(\.path), into: &result) }
    return result
  }

  /// Shows what a removed write covered, unless a newer one covers it too.
  private func reveal(_ write: Overlay.Write, into result: inout SyncResult) {
    let changes = write.changes.filter { !overlay.isCovered($0.path, since: write.position) }
    views.visit(changes) { view, changes in refresh(view, changes.map(\.path), into: &result) }
  }
}
