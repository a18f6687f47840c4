import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Logging

extension Engine {
  /// Gives the connection the next writes of the queue.
  func giveWrites(_ lane: Lane, _ after: WriteID?, _ limit: Int) {
    let found = read { (view, _) throws(StoreError) in
      try view.writes(lane, after: after, limit: limit)
    }
    reportIncidents()
    // A queue that cannot be read now is asked for again with the next write or connection.
    let writes = found ?? []
    tell(
      .writes(
        writes.map { OutboundWrite(lane, $0) }, lane, after: after,
        isLast: found != nil && writes.count < limit))
  }

  /// Makes durable that writes are sent, then lets them leave.
  func markSent(_ ids: [OutboundWriteID]) {
    add(ids.map { .setState($0.lane, $0.id, .sent) }) { [self] result in
      guard case .success(let numbers) = result else {
        // They leave all the same: that they might count twice is the smaller evil.
        setup.logger.error("writes leave without a mark that they were sent")
        return tell(.marked(ids))
      }
      harden(numbers.commit) { [weak self] _ in self?.post(.tell(.marked(ids))) }
    }
  }

  /// The connection broke after a write was sent.
  func outcomeUnknown(_ id: OutboundWriteID) {
    inFlight.remove(id)
    add([.setState(id.lane, id.id, .outcomeUnknown)]) { _ in }
  }

  /// The server answered a write: one commit ends it and brings the cache up to date.
  func answered(_ id: OutboundWriteID, _ response: Response, _ isEarly: Bool) {
    inFlight.remove(id)
    let name = WriteReceipt.ID(identity: id.lane.identity, number: id.id.rawValue)
    let overlay = OverlayID(id.id.rawValue)
    let isLaid = id.lane == lane && laid.remove(overlay) != nil
    let place = OverlayPlace(self, id)
    if let error = DatabaseError(response, "The write to \(place.path) failed") {
      let result = isLaid ? tree.revert(overlay) : SyncResult()
      let reason = RejectionReason(response).text
      let edits = [StorageEdit.setState(id.lane, id.id, .rejected(reason: reason))]
      add(edits) { [self] stored in
        raise(result)
        end(name, .rejected(error), error)
        switch stored {
        case .success: tell(.finished(id))
        case .failure: owe(edits, of: id)
        }
        dataChanged(place.paths)
      }
    } else {
      let result = isLaid ? tree.acknowledge(overlay, isEarly: isEarly) : SyncResult()
      let cached = cachedByAnswer(place.changes, isEarly)
      let ended = StorageEdit.finish(id.lane, id.id, .acknowledged)
      add([ended] + cached.edits + cached.records) { [self] stored in
        raise(result)
        end(name, .acknowledged, nil)
        switch stored {
        case .success(let numbers):
          touch(numbers.queries.suffix(cached.records.count), in: id.lane.tree)
          tell(.finished(id))
        case .failure:
          // What the cache holds may be newer when this is paid: the value is asked for instead.
          let paths = place.paths.filter { !isListened($0) }
          owe([ended] + paths.flatMap { incomplete(around: $0) }, of: id)
          for path in paths where !cached.unknown.contains(path) { refresh(path) }
        }
        for path in cached.unknown { refresh(path) }
        dataChanged(place.paths)
      }
    }
  }

  /// Tells who waits for a write how it ended.
  func end(_ id: WriteReceipt.ID, _ outcome: WriteReceipt.Outcome, _ error: DatabaseError?) {
    for follow in follows.removeValue(forKey: id) ?? [] { finish(follow, outcome, error) }
  }

  // MARK: What an answer tells of the server's data

  /// What an acknowledged write makes of the cache.
  private struct Cached {
    /// New records of what is known completely by it.
    var records: [StorageEdit] = []
    var edits: [StorageEdit] = []
    /// Places of which only the server knows what they hold now.
    var unknown: [Path] = []
  }

  /// What puts an acknowledged write into the cache where no open view does it.
  ///
  /// - Parameter isEarly: whether the connection broke before news could come, so that open views do
  ///   not do it either.
  private func cachedByAnswer(_ changes: [NodeChange], _ isEarly: Bool) -> Cached {
    var cached = Cached()
    for change in changes {
      let owner = change.path.owner
      // Whether it belongs to what a query above held, only the server knows.
      cached.edits += outdated(above: owner)
      let isListened = isListened(owner)
      if isListened, !isEarly { continue }
      if change.node.hasServerValues {
        // The answer to the listen will tell.
        if isListened { continue }
        cached.edits += incomplete(around: owner)
        cached.unknown.append(owner)
        continue
      }
      cached.edits.append(.overwrite(treeID, change.path, change.node))
      cached.edits += outdated(below: owner)
      // What open views below have is newer, as answers may be held back.
      if views.isOpen(below: change.path) {
        for target in active.keys where change.path.contains(target.path) {
          cached.edits += snapshot(of: target)
        }
      }
      if change.path.last?.isPriority == true || isCached(change.path) { continue }
      let record = TrackedQuery(
        tree: treeID, path: change.path, isComplete: true, isKnownMissing: change.node.isEmpty)
      newRecords.append(record)
      cached.records.append(.saveQuery(record))
    }
    return cached
  }

  /// Whether the server tells of a place by itself: a complete view is open there or above, or a
  /// filtered one above holds it.
  private func isListened(_ path: Path) -> Bool {
    if tree.isListened(path) { return true }
    for (target, _) in active where !target.spec.isDefault && target.path.count < path.count {
      guard target.path.contains(path) else { continue }
      let key = path.keys[target.path.count]
      if tree.serverData(of: target)?.node[key].isEmpty == false { return true }
    }
    return false
  }

  private func isCached(_ path: Path) -> Bool {
    read { (view, lane) throws(StoreError) in try view.isComplete(lane.tree, path) } ?? false
  }

  /// Makes queries the most recently used ones.
  func touch(_ queries: some Sequence<QueryID>, in tree: TreeID) {
    for query in queries where backend?.setActive(true, query, in: tree) == true {
      backend?.setActive(false, query, in: tree)
    }
  }

  // MARK: Damage

  /// Reports what storage set aside since the last time.
  func reportIncidents() {
    let incidents = read { (view, _) throws(StoreError) in try view.incidents() } ?? []
    for incident in incidents.dropFirst(incidentsSeen) {
      setup.logger.error("storage was damaged", metadata: ["incident": "\(incident)"])
    }
    incidentsSeen = max(incidentsSeen, incidents.count)
  }
}

/// What an answered write had changed.
private struct OverlayPlace {
  var path = Path.root
  var changes: [NodeChange] = []
  var paths: [Path] { changes.map(\.path.owner) }
}

extension OverlayPlace {
  init(_ engine: isolated Engine, _ id: OutboundWriteID) {
    let write = engine.read { (view, _) throws(StoreError) in try view.write(id.lane, id.id) }
    guard let write, let content = write?.content else { return }
    path = content.path
    changes = content.changes
  }
}

/// Why a server refused a write, as it is kept with the write.
struct RejectionReason {
  let status: Response.Status
  let reason: String?

  init(_ response: Response) {
    status = response.status
    reason = response.reason
  }

  /// Reads what was kept.
  init(_ text: String) {
    let parts = text.split(separator: " ", maxSplits: 1)
    status = Response.Status(rawValue: parts.first.map(String.init) ?? "failure")
    reason = parts.count > 1 ? String(parts[1]) : nil
  }

  /// The status, and the server's words behind a space.
  var text: String { reason.map { "\(status.rawValue) \($0)" } ?? status.rawValue }

  func error(_ path: Path) -> DatabaseError {
    DatabaseError(status, reason: reason, "The write to \(path) failed")
  }
}
