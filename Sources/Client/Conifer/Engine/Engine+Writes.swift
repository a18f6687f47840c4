import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree

extension LocalWrite {
  /// What is queued of it.
  func content(time: Int64) -> WriteContent {
    switch self {
    case .set(let path, let node): .set(path, node, time: time)
    case .update(let path, let changes):
      WriteContent(kind: .update, path: path, changes: changes, time: time)
    }
  }
}

extension Engine {
  /// Queues the writes that wait, in one commit; when that fails, each is tried alone.
  func queueWrites() {
    guard writes.unqueuedCount > 0 else { return }
    let group = writes.takeUnqueued()
    guard let lane else {
      for (_, caller) in group { fail(caller, phaseError) }
      return
    }
    for (content, caller) in group {
      add([.enqueue(lane, content)]) { [self] result in
        switch result {
        case .success(let numbers):
          guard let id = numbers.writes.first else { return }
          queued(QueuedWrite(id: id, content: content), caller, lane, numbers.commit)
        case .failure(let error):
          fail(caller, DatabaseError(error, "The write to \(content.path) was not queued"))
        }
      }
    }
    commitUnits()
  }

  /// A write is in the queue: lays it over the views, and lets the connection know.
  func queued(_ write: QueuedWrite, _ caller: WriteCaller, _ lane: Lane, _ commit: CommitID) {
    let id = OutboundWriteID(lane, write.id)
    let receipt = caller.receipt
    receipt.settle(id: WriteReceipt.ID(id))
    follow(id, caller)
    if setup.options.durability.wanted == .power {
      harden(commit) { receipt.settle(durable: $0) }
    } else {
      receipt.settle(durable: .success(min(.process, backend?.traits.store.strongest ?? .process)))
    }
    lay(write, lane)
    if setup.dropsSupersededWrites { supersede(by: write, lane) }
    overwritten(write.content)
    tell(.write(OutboundWrite(lane, write)))
  }

  /// Lays a queued write over the views that it concerns; others find it in the queue when they open.
  func lay(_ write: QueuedWrite, _ lane: Lane) {
    let changes = write.content.changes
    let now = serverTime
    let known = queuedValues?.pass(write, lane, now: now)
    if known == nil { queuedValues = nil }
    guard changes.contains(where: { views.touches($0.path.owner) }) else { return }
    let entry = resolved(write, lane, known, now)
    raise(tree.write(entry.id, entry.changes))
    _ = writes.show(OutboundWriteID(lane, write.id))
  }

  /// A write with its server values resolved: increments over what the views show there, else over
  /// what is stored, of which some may be known already.
  private func resolved(
    _ write: QueuedWrite, _ lane: Lane, _ known: [NodeChange?]?, _ now: Int64
  ) -> QueueOverlay.Entry {
    let changes = write.content.changes
    // Where no view is, the writes that were laid over others need not be all that wait.
    let isHidden = changes.map {
      !QueueRules.isIdempotent($0.node)
        && !(views.covers($0.path.owner) && tree.value(at: $0.path.owner) != nil)
    }
    var stored = known ?? [NodeChange?](repeating: nil, count: changes.count)
    if zip(isHidden, stored).contains(where: { $0 && $1 == nil }) {
      let found = read { (view, _) throws(StoreError) in
        var overlay = QueueOverlay(view, lane, now: now)
        return try overlay.resolve(write)
      }
      if let (entry, next) = found {
        stored = entry.changes
        if let next { queuedValues = queuedValues?.joined(next) ?? next }
      }
    }
    let resolved = changes.indices.map { index in
      if isHidden[index], let change = stored[index] { return change }
      let change = changes[index]
      return NodeChange(change.path, tree.resolve(change.node, at: change.path, now: now))
    }
    return QueueOverlay.Entry(
      id: OverlayID(write.id.rawValue), changes: resolved)
  }

  /// Tells the app of a write that was not queued.
  func fail(_ caller: WriteCaller, _ error: DatabaseError) {
    caller.receipt.fail(error)
    if let completion = caller.completion { outbox.append { completion(error) } }
  }

  /// Notes who is to be told of a write's end.
  func follow(_ id: OutboundWriteID, _ caller: WriteCaller) {
    writes.follow(id, WriteFollower(caller))
    watch(caller.receipt, id)
  }

  /// Has what is kept of a receipt forgotten when nobody holds it.
  func watch(_ receipt: WriteReceipt?, _ id: OutboundWriteID) {
    receipt?.whenReleased { [weak self] in self?.post(.released(id)) }
  }
}
