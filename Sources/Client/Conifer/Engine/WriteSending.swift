import ConiferKeyValue
import ConiferStorage
import ConiferSync
import Logging

/// Brings the queue's writes to the server: reads them for the connection, marks them as sent where they must be, and
/// says what becomes of those that were sent and not answered.
struct WriteSending {
  let writes: Writes
  let setup: DatabaseConfiguration
  let storage: EngineStorage
  let progress: WriteProgress
  let durability: DurabilityWaits
  let connection: Connection
  let outbox: Outbox
  let post: @Sendable (Step) -> Void

  /// Reads the next writes of the queue for the connection.
  func readQueue(_ lane: Lane, after: WriteID?, limit: Int) {
    // A write of an in-doubt commit would be sent from here, and a second time after the commit is
    // found.
    let page = outbox.hasInDoubtCommits ? nil : readWaiting(lane, after: after, limit: limit)
    storage.reportIncidents()
    // A queue that cannot be read now is asked for again with the next write or connection.
    let (found, isLast) = page ?? ([], false)
    if setup.unknownOutcome == .leaveToApp {
      let uncertain = found.filter {
        !$0.content.isIdempotent && progress.isOutcomeUnknown($0, lane)
      }
      for write in uncertain { leaveToApp(OutboundWriteID(lane, write.id), write.content) }
      if !uncertain.isEmpty {
        // Asked for again when these have ended.
        return connection.add([.needWrites(lane, after: after, limit: limit)])
      }
    }
    let writes = found.map {
      OutboundWrite(lane, $0, needsMark: progress.needsMark(OutboundWriteID(lane, $0.id)))
    }
    connection.tell(.writes(writes, lane, after: after, isLast: isLast))
  }

  /// A window of the writes of a lane that have not ended, and whether it goes to the lane's end; nil when the queue
  /// cannot be read.
  private func readWaiting(
    _ lane: Lane, after: WriteID?, limit: Int
  ) -> (writes: [QueuedWrite], isLast: Bool)? {
    storage.read { (view, _) throws(StoreError) in
      var last = after
      while true {
        let page = try view.writes(lane, after: last, limit: limit)
        let waiting = page.filter { progress.outcome(of: OutboundWriteID(lane, $0.id)) == nil }
        guard waiting.isEmpty, page.count == limit, let end = page.last else {
          return (waiting, page.count < limit)
        }
        // All writes of the page have ended, but the store still has them as waiting.
        last = end.id
      }
    }
  }

  /// Stores durably that writes are sent, and has them sent then.
  func mark(_ ids: [OutboundWriteID]) {
    outbox.addEdits(progress.marks(ids)) { [self] result in
      switch result {
      case .success(let numbers):
        progress.markStored(ids)
        durability.tell(whenDurable: numbers.commit, in: storage) { [post] result in
          var fault: DatabaseError?
          if case .failure(let error) = result { fault = error }
          post(.writesMarked(ids, fault))
        }
      case .failure(let error):
        marked(ids, DatabaseError(error, "It could not be stored that writes are sent"))
      }
    }
  }

  /// The mark that writes are sent is durable, or could not be stored. Without a mark the writes
  /// wait if the app wants each applied at most once. Otherwise they are sent, and may be applied
  /// twice after a crash.
  func marked(_ ids: [OutboundWriteID], _ fault: DatabaseError?) {
    if let fault {
      let waits = setup.unknownOutcome == .leaveToApp
      setup.logger.error(
        waits
          ? "increments wait until it can be stored that they are sent"
          : "increments leave without a durable mark that they are sent",
        metadata: ["cause": "\(fault)"])
      if waits { return connection.tell(.notMarked(ids)) }
    }
    progress.marked(ids)
    connection.tell(.marked(ids))
  }

  /// The connection broke after a write was sent.
  func outcomeUnknown(_ id: OutboundWriteID) {
    if setup.unknownOutcome == .leaveToApp, let content = writes.find(id)?.content,
      !content.isIdempotent
    {
      return leaveToApp(id, content)
    }
    outbox.addEdits(progress.endSending(id, .outcomeUnknown))
  }

  /// The server refused a write for want of a valid token; it is sent again.
  func returned(_ id: OutboundWriteID) {
    outbox.addEdits(progress.endSending(id, .returned)) { [self] result in
      if case .failure = result { progress.returnedUnstored(id) }
    }
  }

  /// Whether a write was done is unknown, and sending it again may apply it twice: the app decides.
  private func leaveToApp(_ id: OutboundWriteID, _ content: WriteContent) {
    writes.reject(id, content, .outcomeUnknown)
  }

  /// Tells the store, which is about to be closed or suspended, of the writes that it has as sent, though they wait.
  func storeUnsent() {
    for id in progress.unsent {
      let found = storage.read { (view, _) throws(StoreError) in try view.entry(id.lane, id.number)
      }
      guard let entry = found ?? nil, entry.state != .queued else { continue }
      outbox.addEdits([.restore(id.lane, progress.corrected(entry, id))]) { [progress] result in
        if case .success = result { progress.waitsAgain(id) }
      }
    }
  }
}
