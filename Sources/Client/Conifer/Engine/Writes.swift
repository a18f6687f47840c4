import ConiferKeyValue
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Logging

/// Brings the app's writes from the call into the queue, and from the server's answer to their end; ``WriteSending``
/// does what lies between.
struct Writes {
  let unqueued = UnqueuedWrites<WriteContent>()
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

  /// Stores how writes ended, where storing that failed before, in commits of their own. Other
  /// edits are committed after that.
  func storeEarlierEnds() {
    cache.willCommit()
    for id in progress.unstoredEnds {
      let edits = progress.unstoredEdits(of: id)
      willStore(edits)
      do throws(StoreError) {
        _ = try outbox.commitNow(edits)
      } catch {
        switch error.code {
        // The write has ended in the store already, or the store no longer has it.
        case .invalid: break
        // The others cannot be stored either.
        case .full, .poisoned: return
        default: continue
        }
      }
      progress.stored(id)
    }
  }

  /// Tells the views which edits are about to be stored.
  func willStore(_ edits: [StorageEdit]) { views.willStore(edits) }

  // MARK: Into the queue

  /// Takes in a write, which is queued in one commit with those that follow it.
  func add(_ write: LocalWrite, _ caller: WriteCaller) {
    unqueued.add(write.content(time: setup.clock.wallTime), caller)
  }

  /// Has the writes that came queued, in one commit; when that fails, each is tried alone.
  func queueAll() {
    let group = unqueued.takeAll()
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
          // No later check will tell whether it was queued.
          if storage.isClosed { caller.receipt.close(storage.error) }
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
    durability.tell(
      receipt, whenDurable: commit, as: setup.options.durability.wanted, in: storage)
    // A write that was found in the store after a doubtful commit may be another user's by now, and
    // views that opened since show it already.
    if lane == storage.lane, !views.tree.holds(LanePosition(write.id)) {
      views.show(write, of: lane)
    }
    if setup.dropsSupersededWrites { supersede(by: write, lane) }
    transactions.overwritten(write.content)
    connection.tell(.write(OutboundWrite(lane, write)))
  }

  /// Tells the receipt of a write of nothing when the writes before it are durable.
  func tellDurability(of receipt: WriteReceipt) {
    durability.tell(
      receipt, whenDurable: outbox.last, as: setup.options.durability.wanted, in: storage)
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
    guard let oldID = connection.lastUnsent, oldID.lane == lane, oldID.number < new.id,
      let old = find(oldID), case .queued = old.state, new.content.supersedes(old.content)
    else { return }
    connection.tell(.withdraw(oldID))
    views.raise(views.revert(oldID))
    let edits = [StorageEdit.finish(lane, oldID.number, .superseded(by: new.id))]
    let newID = OutboundWriteID(lane, new.id)
    let outcome = WriteReceipt.Outcome.superseded(by: WriteReceipt.ID(newID))
    outbox.addEdits(edits) { [self] stored in
      // The followers of the old write are told how the new write ended.
      let moved = progress.handFollowers(of: oldID, to: newID)
      end(oldID, outcome, nil, edits, stored)
      for follower in moved { watch(follower.receipt, newID) }
      // Receipts may have been released meanwhile, and no step has told so yet.
      progress.released(newID)
      // Followers that the old write had taken over itself were told then; they come first.
      for case let receipt? in moved.reversed().map(\.receipt) {
        if receipt.isEnded { break }
        receipt.end(outcome)
      }
    }
  }

  /// A write as the store has it.
  func find(_ id: OutboundWriteID) -> QueuedWrite? {
    storage.read { (view, _) throws(StoreError) in try view.write(id.lane, id.number) } ?? nil
  }

  // MARK: From the server

  /// The server answered a write: one commit ends it and brings the cache up to date.
  func answered(_ id: OutboundWriteID, _ response: Response, isDataMissing: Bool) {
    let content = find(id)?.content
    guard response.status == .ok else { return reject(id, content, RejectionReason(response)) }
    let changes = content?.changes ?? []
    let paths = changes.map(\.path.owner)
    let result = views.acknowledge(id, isDataMissing: isDataMissing)
    let cached = cache.acknowledge(changes, isDataMissing: isDataMissing, of: id)
    let ended = progress.endSending(id, .acknowledged)
    outbox.addEdits(ended + cached.edits + cached.records) { [self] stored in
      views.raise(result)
      switch stored {
      case .success(let numbers):
        end(id, .acknowledged, nil)
        cache.touch(numbers.queries.suffix(cached.records.count), in: id.lane.tree)
      case .failure:
        let unknown = cache.acknowledgeFailed(paths)
        // By the time that this is stored, other places may be listened to.
        end(id, .acknowledged, nil) { [cache] in
          ended + unknown.flatMap { cache.completenessLost(around: $0) }
        }
        for path in unknown where !cached.unknown.contains(path) { gets.refresh(path) }
      }
      for path in cached.unknown { gets.refresh(path) }
      transactions.dataChanged(paths)
    }
  }

  /// A write is not done: it is taken back from the views, and waits for the app with the reason.
  func reject(_ id: OutboundWriteID, _ content: WriteContent?, _ reason: RejectionReason) {
    let error = reason.error(content?.path ?? .root)
    let result = views.revert(id)
    let edits = progress.endSending(id, .rejected(reason: reason.text))
    outbox.addEdits(edits) { [self] stored in
      views.raise(result)
      end(id, .rejected(error), error, edits, stored)
      transactions.dataChanged(content?.changes.map(\.path.owner) ?? [])
    }
  }

  /// Ends a write: tells its followers, and keeps the edits that the store could not take.
  private func end(
    _ id: OutboundWriteID, _ outcome: WriteReceipt.Outcome, _ error: DatabaseError?,
    _ edits: [StorageEdit], _ stored: Outbox.Stored
  ) {
    switch stored {
    case .success: end(id, outcome, error)
    case .failure: end(id, outcome, error) { edits }
    }
  }

  /// A write has ended: tells who waits for it.
  func end(
    _ id: OutboundWriteID, _ outcome: WriteReceipt.Outcome, _ error: DatabaseError?,
    unstored: (() -> [StorageEdit])? = nil
  ) {
    for follower in progress.end(id, outcome, unstored: unstored) {
      follower.receipt?.end(outcome)
      if let completion = follower.completion { outbox.addCall { completion(error) } }
    }
  }

  /// Another process may have changed the queue: the writes that it ended have ended here too.
  ///
  /// - Throws: why the queue cannot be read.
  func storeChanged() throws(DatabaseError) {
    outbox.storeChanged()
    cache.storeChanged()
    for id in progress.followed {
      let outcome = try storage.reading {
        (view, _) throws(StoreError) -> WriteReceipt.Outcome? in
        if let end = try view.finishedWrite(id.lane, id.number) {
          return WriteReceipt.Outcome(end.outcome, id.lane)
        }
        guard let entry = try view.entry(id.lane, id.number) else {
          return .failed(
            DatabaseError(.unknownWrite, "The store knows no write \(WriteReceipt.ID(id))."))
        }
        guard case .rejected(let reason) = entry.state else { return nil }
        return .rejected(RejectionReason(reason).error(entry.payload.path))
      }
      guard let outcome else { continue }
      switch outcome {
      case .acknowledged, .superseded: end(id, outcome, nil)
      case .rejected(let error), .failed(let error): end(id, outcome, error)
      case .discarded:
        end(id, outcome, DatabaseError(.discarded, "Another process discarded the write."))
      }
    }
  }

  /// The database is closed; the writes stay in the queue.
  func close(_ error: DatabaseError) {
    outbox.failInDoubtCommits()
    for follower in progress.removeFollowers() {
      follower.receipt?.close(error)
      if let completion = follower.completion { outbox.addCall { completion(error) } }
    }
  }
}

// MARK: - What the app asks for

extension Engine {
  /// Queues a write.
  func write(
    _ write: LocalWrite, completion: (@Sendable (DatabaseError?) -> Void)?
  ) -> WriteReceipt {
    if case .update(_, let changes) = write, changes.isEmpty {
      let receipt = WriteReceipt.nothing()
      if let completion { steps.post(.run { $0.outbox.addCall { completion(nil) } }) }
      steps.post(.useQueue(isChange: false) { $0.writes.tellDurability(of: receipt) })
      return receipt
    }
    let receipt = WriteReceipt()
    steps.post(.write(write, WriteCaller(receipt: receipt, completion: completion)))
    return receipt
  }
}
