import ConiferKeyValue
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Logging

/// The app's writes, from the call to the server's answer.
struct Writes {
  let durability: DurabilityWaits
  let setup: DatabaseConfiguration
  let storage: EngineStorage
  let views: Views
  let progress: WriteProgress
  let cache: CacheUpdater
  let gets: Gets
  let transactions: Transactions
  let connection: Connection
  let outbox: Outbox
  let post: @Sendable (Step) -> Void

  // MARK: Before a commit

  /// Edits are about to be stored: ends of writes that could not be stored before are stored first.
  func willCommit() {
    cache.willCommit()
    for (id, edits) in progress.unstoredEnds {
      willStore(edits)
      do throws(StoreError) {
        _ = try outbox.commitNow(edits)
      } catch {
        // The store refuses it as invalid: the write has ended already, or is gone.
        guard error.code == .invalid else { continue }
      }
      progress.stored(id)
      connection.tell(.finished(id))
    }
  }

  /// Tells the views which edits are about to be stored.
  func willStore(_ edits: [StorageEdit]) { views.willStore(edits) }

  // MARK: Into the queue

  /// The most writes that share a commit.
  private static let largestGroup = 256

  /// Whether there are writes that are not queued yet.
  var hasUnqueued: Bool { progress.unqueuedCount > 0 }

  /// Whether as many are to be queued as should share a commit.
  var isFull: Bool { progress.unqueuedCount >= Self.largestGroup }

  /// Takes in a write, which is queued when the step ends.
  func add(_ write: LocalWrite, _ caller: WriteCaller) {
    progress.add(write.content(time: setup.clock.wallTime), caller)
  }

  /// Has the writes that came queued, in one commit; when that fails, each is tried alone.
  func queueAll() {
    let group = progress.takeUnqueued()
    guard let lane = storage.lane else {
      for (_, caller) in group { fail(caller, storage.error) }
      return
    }
    for (content, caller) in group {
      outbox.addEdits([.enqueue(lane, content)]) { [self] result in
        switch result {
        case .success(let numbers):
          guard let id = numbers.writes.first else { return }
          queued(QueuedWrite(id: id, content: content), caller, lane, numbers.commit)
        case .failure(let error):
          fail(caller, DatabaseError(error, "The write to \(content.path) was not queued"))
        }
      }
    }
  }

  /// Tells the app of a write that was not queued.
  private func fail(_ caller: WriteCaller, _ error: DatabaseError) {
    caller.receipt.fail(error)
    if let completion = caller.completion { outbox.addCall { completion(error) } }
  }

  /// A write is in the queue: shows it in the views, and tells the connection.
  func queued(_ write: QueuedWrite, _ caller: WriteCaller, _ lane: Lane, _ commit: CommitID) {
    let id = OutboundWriteID(lane, write.id)
    let receipt = caller.receipt
    receipt.setID(WriteReceipt.ID(id))
    follow(id, caller)
    if setup.options.durability.wanted == .power {
      durability.wait(for: commit, in: storage) { receipt.setDurable($0) }
    } else {
      receipt.setDurable(.success(min(.process, storage.strongest)))
    }
    views.show(write, of: lane)
    if setup.dropsSupersededWrites { supersede(by: write, lane) }
    transactions.overwritten(write.content)
    connection.tell(.write(OutboundWrite(lane, write)))
  }

  /// Notes who is to be told of a write's end.
  func follow(_ id: OutboundWriteID, _ caller: WriteCaller) {
    progress.follow(id, WriteFollower(caller))
    watch(caller.receipt, id)
  }

  /// Has what is kept of a receipt forgotten when nobody holds it.
  private func watch(_ receipt: WriteReceipt?, _ id: OutboundWriteID) {
    receipt?.whenReleased { [post] in post(.receiptReleased(id)) }
  }

  /// Drops the write before a new one, when that was never sent, nothing was issued between them, and
  /// the new one replaces all of it.
  ///
  /// The connection forgets it at once; the store does in the next commit.
  private func supersede(by new: QueuedWrite, _ lane: Lane) {
    guard let id = connection.lastUnsent, id.lane == lane, id.id < new.id,
      let old = find(id), case .queued = old.state, new.content.supersedes(old.content)
    else { return }
    connection.tell(.superseded(id))
    views.raise(views.revert(id))
    let edits = [StorageEdit.finish(lane, id.id, .superseded(by: new.id))]
    let name = OutboundWriteID(lane, new.id)
    let outcome = WriteReceipt.Outcome.superseded(by: WriteReceipt.ID(name))
    outbox.addEdits(edits) { [self] stored in
      // Whether what they wrote counts is told by the end of the new one.
      let moved = progress.handFollowers(of: id, to: name)
      end(id, outcome, nil, edits, stored)
      for follower in moved { watch(follower.receipt, name) }
      // Some may have been released meanwhile, and nobody told it.
      progress.released(name)
      // Those of what it had superseded itself come first, and were told.
      for case let receipt? in moved.reversed().map(\.receipt) {
        if receipt.isEnded { break }
        receipt.end(outcome)
      }
    }
  }

  /// A write as the store has it.
  func find(_ id: OutboundWriteID) -> QueuedWrite? {
    storage.read { (view, _) throws(StoreError) in try view.write(id.lane, id.id) } ?? nil
  }

  // MARK: To the server

  /// Reads the next writes of the queue for the connection.
  func readQueue(_ lane: Lane, after: WriteID?, limit: Int) {
    let page = storage.read { (view, _) throws(StoreError) in
      try view.writes(lane, after: after, limit: limit)
    }
    storage.reportIncidents()
    // A queue that cannot be read now is asked for again with the next write or connection.
    var found = page ?? []
    if setup.unknownOutcome == .leaveToApp {
      let uncertain = found.filter {
        !$0.content.isIdempotent && progress.isOutcomeUnknown($0, lane)
      }
      for write in uncertain { leaveToApp(OutboundWriteID(lane, write.id), write.content) }
      if !uncertain.isEmpty {
        // Asked for again when the store no longer takes them for waiting.
        return connection.add([.needWrites(lane, after: after, limit: limit)])
      }
      found.removeAll { progress.outcome(of: OutboundWriteID(lane, $0.id)) != nil }
    }
    let writes = found.map {
      OutboundWrite(lane, $0, needsMark: progress.needsMark(OutboundWriteID(lane, $0.id)))
    }
    let isLast = page.map { $0.count < limit } ?? false
    connection.tell(.writes(writes, lane, after: after, isLast: isLast))
  }

  /// Stores durably that writes are sent, and has them sent then.
  func mark(_ ids: [OutboundWriteID]) {
    outbox.addEdits(progress.marks(ids)) { [self] result in
      switch result {
      case .success(let numbers):
        progress.marking(ids)
        durability.wait(for: numbers.commit, in: storage) { [post] result in
          var fault: DatabaseError?
          if case .failure(let error) = result { fault = error }
          post(.writesMarked(ids, fault))
        }
      case .failure(let error):
        marked(ids, DatabaseError(error, "It could not be stored that writes are sent"))
      }
    }
  }

  /// The mark that writes are sent is durable, or could not be stored. Without it they wait if the app
  /// wants each applied at most once; otherwise they are sent, as applying one twice is the smaller evil.
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

  // MARK: From the server

  /// The connection broke after a write was sent.
  func outcomeUnknown(_ id: OutboundWriteID) {
    if setup.unknownOutcome == .leaveToApp, let content = find(id)?.content,
      !content.isIdempotent
    {
      return leaveToApp(id, content)
    }
    outbox.addEdits(progress.outcomeUnknown(id))
  }

  /// The server refused a write for want of a valid token; it is sent again.
  func returned(_ id: OutboundWriteID) {
    outbox.addEdits(progress.returned(id)) { [self] result in
      if case .failure = result { progress.returnedUnstored(id) }
    }
  }

  /// Whether a write was done is unknown, and sending it again may apply it twice: the app decides.
  private func leaveToApp(_ id: OutboundWriteID, _ content: WriteContent) {
    reject(id, content, RejectionReason(Response(.disconnect)))
  }

  /// The server answered a write: one commit ends it and brings the cache up to date.
  func answered(_ id: OutboundWriteID, _ response: Response, isDataMissing: Bool) {
    let content = find(id)?.content
    guard response.status == .ok else { return reject(id, content, RejectionReason(response)) }
    let changes = content?.changes ?? []
    let paths = changes.map(\.path.owner)
    let result = views.acknowledge(id, isDataMissing: isDataMissing)
    let cached = cache.acknowledge(changes, isDataMissing: isDataMissing, of: id)
    let ended = progress.acknowledged(id)
    outbox.addEdits(ended + cached.edits + cached.records) { [self] stored in
      views.raise(result)
      switch stored {
      case .success(let numbers):
        end(id, .acknowledged, nil, ended, stored)
        cache.touch(numbers.queries.suffix(cached.records.count), in: id.lane.tree)
      case .failure:
        let failed = cache.acknowledgeFailed(paths)
        end(id, .acknowledged, nil, ended + failed.edits, stored)
        for path in failed.paths where !cached.unknown.contains(path) { gets.refresh(path) }
      }
      for path in cached.unknown { gets.refresh(path) }
      transactions.dataChanged(paths)
    }
  }

  /// A write is not done: it is taken back from the views, and waits for the app with the reason.
  private func reject(_ id: OutboundWriteID, _ content: WriteContent?, _ reason: RejectionReason) {
    let error = reason.error(content?.path ?? .root)
    let result = views.revert(id)
    let edits = progress.rejected(id, reason.text)
    outbox.addEdits(edits) { [self] stored in
      views.raise(result)
      end(id, .rejected(error), error, edits, stored)
      transactions.dataChanged(content?.changes.map(\.path.owner) ?? [])
    }
  }

  /// A write has ended: tells who waits for it, and the connection once the store holds it.
  private func end(
    _ id: OutboundWriteID, _ outcome: WriteReceipt.Outcome, _ error: DatabaseError?,
    _ edits: [StorageEdit], _ stored: Outbox.Stored
  ) {
    switch stored {
    case .success:
      end(id, outcome, error)
      connection.tell(.finished(id))
    case .failure: end(id, outcome, error, unstored: edits)
    }
  }

  /// A write has ended: tells who waits for it.
  func end(
    _ id: OutboundWriteID, _ outcome: WriteReceipt.Outcome, _ error: DatabaseError?,
    unstored: [StorageEdit]? = nil
  ) {
    for follower in progress.end(id, outcome, unstored: unstored) {
      follower.receipt?.end(outcome)
      if let completion = follower.completion { outbox.addCall { completion(error) } }
    }
  }

  // MARK: The close

  /// Tells the store, which is about to be closed, of the writes that it has as sent, though they wait.
  func storeUnsent() {
    for id in progress.unsent {
      let found = storage.read { (view, _) throws(StoreError) in try view.entry(id.lane, id.id) }
      guard let entry = found ?? nil, entry.state != .queued else { continue }
      outbox.addEdits([.restore(id.lane, progress.corrected(entry, id))])
    }
  }

  /// The database is closed; the writes stay in the queue.
  func close(_ error: DatabaseError) {
    for follower in progress.removeFollowers() {
      follower.receipt?.close(error)
      if let completion = follower.completion { outbox.addCall { completion(error) } }
    }
  }
}
