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
    let page = read { (view, _) throws(StoreError) in
      try view.writes(lane, after: after, limit: limit)
    }
    reportIncidents()
    // A queue that cannot be read now is asked for again with the next write or connection.
    var found = page ?? []
    if setup.unknownOutcome == .leaveToApp {
      let doubtful = found.filter {
        !QueueRules.isIdempotent($0.content) && writes.isOutcomeUnknown($0, lane)
      }
      for write in doubtful { leaveToApp(OutboundWriteID(lane, write.id)) }
      if !doubtful.isEmpty {
        // Asked for again when the store no longer takes them for waiting.
        return link.add([.needWrites(lane, after: after, limit: limit)])
      }
      found.removeAll { writes.outcome(of: OutboundWriteID(lane, $0.id)) != nil }
    }
    tell(
      .writes(
        found.map {
          OutboundWrite(lane, $0, isMarking: writes.isMarking(OutboundWriteID(lane, $0.id)))
        }, lane, after: after, isLast: page.map { $0.count < limit } ?? false))
  }

  /// Makes durable that writes are sent, then lets them leave.
  func markSent(_ ids: [OutboundWriteID]) {
    add(writes.mark(ids)) { [self] result in
      switch result {
      case .success(let numbers):
        harden(numbers.commit) { [weak self] result in
          var fault: DatabaseError?
          if case .failure(let error) = result { fault = error }
          self?.post(.ask { [fault] in $0.marked(ids, fault) })
        }
      case .failure(let error):
        marked(ids, DatabaseError(error, "It could not be noted that writes are sent"))
      }
    }
  }

  /// It is noted that writes are sent, or not, for a reason: those that are to count at most once wait
  /// then, and others leave all the same, as that they might count twice is the smaller evil.
  private func marked(_ ids: [OutboundWriteID], _ fault: DatabaseError?) {
    if let fault {
      let waits = setup.unknownOutcome == .leaveToApp
      setup.logger.error(
        waits
          ? "increments wait until it can be noted that they are sent"
          : "increments leave without a durable note that they are sent",
        metadata: ["cause": "\(fault)"])
      if waits { return tell(.notMarked(ids)) }
    }
    writes.marked(ids)
    tell(.marked(ids))
  }

  /// The connection broke after a write was sent.
  func outcomeUnknown(_ id: OutboundWriteID) {
    if setup.unknownOutcome == .leaveToApp, !OverlayPlace(self, id).isIdempotent {
      return leaveToApp(id)
    }
    add(writes.outcomeUnknown(id)) { _ in }
  }

  /// The server did not look at a write for want of a token.
  func returned(_ id: OutboundWriteID) {
    add(writes.returned(id)) { [self] result in
      if case .failure = result { writes.returnedUnstored(id) }
    }
  }

  /// Nobody knows whether a write was done, and doing it again might double it: the app decides.
  private func leaveToApp(_ id: OutboundWriteID) {
    let place = OverlayPlace(self, id)
    let reason = RejectionReason(Response(.disconnect))
    reject(id, place, reason, reason.error(place.path))
  }

  /// The server answered a write: one commit ends it and brings the cache up to date.
  func answered(_ id: OutboundWriteID, _ response: Response, _ isEarly: Bool) {
    let overlay = OverlayID(id.id.rawValue)
    let place = OverlayPlace(self, id)
    if let error = DatabaseError(response, "The write to \(place.path) failed") {
      reject(id, place, RejectionReason(response), error)
    } else {
      let result = writes.hide(id) ? tree.acknowledge(overlay, isEarly: isEarly) : SyncResult()
      let cached = cachedByAnswer(place.changes, isEarly, in: id.lane)
      let ended = writes.acknowledged(id)
      add(ended + cached.edits + cached.records) { [self] stored in
        raise(result)
        switch stored {
        case .success(let numbers):
          tell(writes.end(id, .acknowledged), .acknowledged, nil)
          touch(numbers.queries.suffix(cached.records.count), in: id.lane.tree)
          tell(.finished(id))
        case .failure:
          // When this is tried again the cache may be newer: the value is asked for instead.
          let paths = place.paths.filter { !isListened($0) }
          for path in paths { openIncrements.forget(path) }
          let unstored = ended + paths.flatMap { incomplete(around: $0) }
          tell(writes.end(id, .acknowledged, unstored: unstored), .acknowledged, nil)
          for path in paths where !cached.unknown.contains(path) { refresh(path) }
        }
        for path in cached.unknown { refresh(path) }
        dataChanged(place.paths)
      }
    }
  }

  /// A write is not done: it is taken back from the views, and waits for the app with the reason.
  private func reject(
    _ id: OutboundWriteID, _ place: OverlayPlace, _ reason: RejectionReason, _ error: DatabaseError
  ) {
    let overlay = OverlayID(id.id.rawValue)
    let result = writes.hide(id) ? tree.revert(overlay) : SyncResult()
    let edits = writes.rejected(id, reason.text)
    add(edits) { [self] stored in
      raise(result)
      end(id, .rejected(error), error, edits, stored)
      dataChanged(place.paths)
    }
  }

  /// A write has ended: tells who waits for it, and the connection once the store holds it.
  func end(
    _ id: OutboundWriteID, _ outcome: WriteReceipt.Outcome, _ error: DatabaseError?,
    _ edits: [StorageEdit], _ stored: Result<CommitUnit.Numbers, StoreError>
  ) {
    switch stored {
    case .success:
      tell(writes.end(id, outcome), outcome, error)
      tell(.finished(id))
    case .failure: tell(writes.end(id, outcome, unstored: edits), outcome, error)
    }
  }

  /// Tells who waits for a write how it ended.
  func tell(
    _ followers: [WriteFollower], _ outcome: WriteReceipt.Outcome, _ error: DatabaseError?
  ) {
    for follower in followers {
      follower.receipt?.settle(outcome)
      if let completion = follower.completion { outbox.append { completion(error) } }
    }
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
  private func cachedByAnswer(_ changes: [NodeChange], _ isEarly: Bool, in lane: Lane) -> Cached {
    var cached = Cached()
    let isLong = isLong(lane)
    for change in changes {
      let owner = change.path.owner
      // Whether it belongs to what a query above held, only the server knows.
      cached.edits += outdated(above: owner)
      let isListened = isListened(owner)
      if isListened, !isEarly { continue }
      if isLong, !isListened, isForeign(owner) {
        // A query that waits for another place would wait for this one too.
        openIncrements.forget(owner)
        continue
      }
      if change.node.hasServerValues {
        // The answer to the listen will tell.
        if isListened { continue }
        guard !isLong else {
          // Thousands of questions would wait behind a long queue: the next listen tells.
          cached.edits += incomplete(around: owner)
          openIncrements.forget(owner)
          continue
        }
        cached.edits += lost(around: owner)
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

  /// Whether so much of a queue waits that what is answered now would soon be evicted again, and what
  /// the app listened to with it: a backend keeps 1,000 queries that nobody listens to.
  private func isLong(_ lane: Lane) -> Bool {
    let pending = read { (view, _) throws(StoreError) in try view.totals(lane).pending }
    return pending ?? 0 > 100
  }

  /// Whether the cache holds nothing of a place, and nothing that covers it.
  private func isForeign(_ path: Path) -> Bool {
    if views.isOpen(below: path) || newRecords.contains(where: { $0.path.touches(path) }) {
      return false
    }
    return read { (view, lane) throws(StoreError) in
      if try view.isComplete(lane.tree, path) { return false }
      let found =
        try view.trackedQueries(lane.tree, at: path)
        + view.trackedQueries(lane.tree, below: path)
      return found.isEmpty
    } ?? false
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
    if incidents.count > incidentsSeen { openIncrements = OpenIncrements() }
    incidentsSeen = max(incidentsSeen, incidents.count)
  }
}

/// What an answered write had changed.
private struct OverlayPlace {
  var path = Path.root
  var changes: [NodeChange] = []
  var isIdempotent = true
  var paths: [Path] { changes.map(\.path.owner) }
}

extension OverlayPlace {
  init(_ engine: isolated Engine, _ id: OutboundWriteID) {
    let write = engine.read { (view, _) throws(StoreError) in try view.write(id.lane, id.id) }
    guard let write, let content = write?.content else { return }
    path = content.path
    changes = content.changes
    isIdempotent = QueueRules.isIdempotent(content)
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
    guard status != .disconnect else {
      return DatabaseError(
        .outcomeUnknown, "The write to \(path) was sent, and its answer never came.",
        remedy: "Read the place, then retry the write or discard it.")
    }
    return DatabaseError(status, reason: reason, "The write to \(path) failed")
  }
}
