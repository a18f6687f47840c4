import ConiferKeyValue
import ConiferStorage
import ConiferSync
import ConiferTree

/// The app's requests to its queue: they list, retry, edit and discard writes that wait, and writes that the server
/// refused.
struct QueueRequests {
  typealias Reply<R: Sendable> = @Sendable (Result<R, DatabaseError>) -> Void

  let setup: DatabaseConfiguration
  let storage: EngineStorage
  let views: Views
  let writes: Writes
  let user: SignedInUser
  let transactions: Transactions
  let connection: Connection
  let outbox: Outbox

  // MARK: Questions

  /// Reads the current identity's queue.
  private func read<R: Sendable>(
    _ body: (any StorageView, Lane) throws(StoreError) -> R
  ) -> Result<R, DatabaseError> {
    guard let backend = storage.backend, let lane = storage.lane else {
      return .failure(storage.error)
    }
    do throws(StoreError) {
      return .success(try backend.read { (view) throws(StoreError) in try body(view, lane) })
    } catch {
      return .failure(DatabaseError(error, "The queue could not be read"))
    }
  }

  /// A window of the writes in the order of their numbers.
  func list(
    after number: UInt64?, limit: Int, rejectedOnly: Bool
  ) -> Result<[PendingWrite], DatabaseError> {
    let after = number.map { WriteID(rawValue: $0) }
    let progress = writes.progress
    return read { (view, lane) throws(StoreError) in
      // Some of what the store takes for waiting has ended.
      let (sum, isOver) = limit.addingReportingOverflow(progress.unstoredCount)
      let most = isOver ? limit : sum
      var found = try view.rejectedEntries(lane, after: after, limit: most)
      if rejectedOnly {
        for id in progress.unstoredRejections(in: lane) where after.map({ $0 < id }) ?? true {
          if let entry = try view.entry(lane, id) { found.append(entry) }
        }
      } else {
        found += try view.entries(lane, after: after, limit: most)
      }
      let pending = found.sorted { $0.id < $1.id }.lazy.compactMap { entry in
        PendingWrite(entry, OutboundWriteID(lane, entry.id), progress)
      }
      return Array(pending.prefix(limit))
    }
  }

  /// What the queue holds.
  func totals() -> Result<PendingWriteTotals, DatabaseError> {
    let progress = writes.progress
    return read { (view, lane) throws(StoreError) in
      let stored = try view.totals(lane)
      var totals = PendingWriteTotals(
        pending: stored.pending, rejected: stored.rejected, bytes: stored.bytes)
      // Some of what the store takes for waiting has ended.
      for id in progress.unstoredEnds where id.lane == lane {
        guard try view.entry(lane, id.number) != nil else { continue }
        totals.pending -= 1
        if case .rejected? = progress.outcome(of: id) { totals.rejected += 1 }
      }
      return totals
    }
  }

  /// What waits for the server, also the writes that wait to be queued until it is known who made them.
  func left() -> Result<PendingWriteTotals, DatabaseError> {
    totals().map { totals in
      var totals = totals
      totals.pending += user.heldWriteCount
      return totals
    }
  }

  /// How a write ended; nil when it has not ended, and then the receipt is told of its end.
  func outcome(
    of receiptID: WriteReceipt.ID, _ receipt: WriteReceipt
  ) -> Result<WriteReceipt.Outcome?, DatabaseError> {
    let progress = writes.progress
    let id = OutboundWriteID(receiptID, in: storage.tree)
    let known: Result<WriteReceipt.Outcome?, DatabaseError> = read {
      (view, _) throws(StoreError) in
      if let end = progress.outcome(of: id) { return end }
      if let end = try view.finishedWrite(id.lane, id.number) {
        return .init(end.outcome, id.lane)
      }
      guard let entry = try view.entry(id.lane, id.number) else {
        return .failed(DatabaseError(.unknownWrite, "The store knows no write \(receiptID)."))
      }
      if case .rejected(let reason) = entry.state {
        return .rejected(RejectionReason(reason).error(entry.payload.path))
      }
      return nil
    }
    if case .success(nil) = known { writes.follow(id, WriteCaller(receipt: receipt)) }
    return known
  }

  // MARK: Changes

  /// Finds a write of the user who is signed in that waits or was refused.
  private func find(_ receiptID: WriteReceipt.ID) throws(DatabaseError) -> (
    OutboundWriteID, QueueEntry
  ) {
    guard let lane = storage.lane else { throw storage.error }
    let id = OutboundWriteID(receiptID, in: lane.tree)
    let entry = storage.read { (view, lane) throws(StoreError) in try view.entry(lane, id.number) }
    guard id.lane == lane, let entry = entry ?? nil else {
      throw DatabaseError(.unknownWrite, "The user's queue holds no write \(receiptID).")
    }
    switch writes.progress.outcome(of: id) {
    case nil, .rejected?: return (id, entry)
    case .acknowledged?, .discarded?, .superseded?, .failed?:
      throw DatabaseError(.unknownWrite, "The write \(receiptID) has ended.")
    }
  }

  /// Finds a write that the server refused.
  private func findRejected(
    _ receiptID: WriteReceipt.ID
  ) throws(DatabaseError) -> (OutboundWriteID, QueuedWrite) {
    let (id, entry) = try find(receiptID)
    if case .rejected? = writes.progress.outcome(of: id) {
      throw DatabaseError(
        .storageFull, "It could not be stored yet that the server refused the write \(receiptID).",
        remedy: "Free space on the disk, then try again.")
    }
    guard case .rejected = entry.state, let write = QueuedWrite(entry) else {
      throw DatabaseError(.unknownWrite, "The server did not refuse the write \(receiptID).")
    }
    return (id, write)
  }

  /// Queues a refused write again, in its old place.
  func retry(_ receiptID: WriteReceipt.ID, _ reply: @escaping Reply<Void>) throws(DatabaseError) {
    var (id, write) = try findRejected(receiptID)
    write.state = .queued
    outbox.addEdits([.setState(id.lane, id.number, .queued)]) { [self, write] result in
      if case .success = result {
        views.show(write, of: id.lane)
        connection.tell(.write(OutboundWrite(id.lane, write)))
        transactions.dataChanged(write.content.changes.map(\.path.owner))
      }
      reply(result.map { _ in }.mapError { DatabaseError($0, "The write was not queued again") })
    }
  }

  /// Replaces a refused write by another one, which is queued last.
  func edit(
    _ receiptID: WriteReceipt.ID, to new: LocalWrite, _ reply: @escaping Reply<WriteReceipt>
  ) throws(DatabaseError) {
    let (id, _) = try findRejected(receiptID)
    let lane = id.lane
    let content = new.content(time: setup.clock.wallTime)
    let edits: [StorageEdit] = [.enqueue(lane, content), .finish(lane, id.number, .discarded)]
    outbox.addEdits(edits) { [self] result in
      switch result {
      case .success(let numbers):
        let receipt = WriteReceipt()
        if let number = numbers.writes.first {
          writes.queued(
            QueuedWrite(id: number, content: content), WriteCaller(receipt: receipt), lane,
            numbers.commit)
        }
        writes.end(id, .discarded, nil)
        reply(.success(receipt))
      case .failure(let error):
        reply(.failure(DatabaseError(error, "The write was not replaced")))
      }
    }
  }

  /// Gives up a write that is not under way to the server.
  func discard(_ receiptID: WriteReceipt.ID, _ reply: @escaping Reply<Void>) throws(DatabaseError) {
    let (id, entry) = try find(receiptID)
    var doubt = ""
    if case .sent = writes.progress.delivery(id) {
      throw DatabaseError(
        .unknownWrite, "The write \(receiptID) was sent, and the server decides.",
        remedy: "Wait for its outcome; what the server refuses may be discarded.")
    } else if let write = QueuedWrite(entry), writes.progress.isOutcomeUnknown(write, id.lane) {
      doubt = ", of which nobody knows whether the server did it"
    }
    outbox.addEdits([.finish(id.lane, id.number, .discarded)]) { [self] result in
      if case .success = result {
        connection.tell(.withdraw(id))
        views.raise(views.revert(id))
        let error = DatabaseError(.discarded, "The app discarded the write \(receiptID)\(doubt).")
        writes.end(id, .discarded, error)
        transactions.dataChanged(entry.payload.touches.map(\.owner))
      }
      reply(result.map { _ in }.mapError { DatabaseError($0, "The write was not discarded") })
    }
  }

  // MARK: All of them

  /// Gives up all waiting and refused writes, transactions and onDisconnects of the user. Listeners
  /// are told of the data without them first, then the callers. When the store cannot remove the
  /// writes, they stay queued.
  ///
  /// - Parameter mail: gives up what other processes have left for the user.
  func purge(with mail: MailRemoval) {
    guard let lane = storage.lane else { return }
    func failed(_ error: StoreError) {
      storage.report(DatabaseError(error, "No write was purged"))
      connection.tell(.giveUpOperations)
    }
    let left: MailRemoval.Purge
    do throws(StoreError) { left = try mail.purge(lane) } catch { return failed(error) }
    outbox.addEdits([.purge(lane)] + left.edits) { [self] result in
      if case .failure(let error) = result { return failed(error) }
      let reverted = views.tree.revertAll()
      let followed = writes.progress.stopSending(all: lane)
      views.raise(reverted)
      transactions.giveUp(.writeCanceled)
      let error = DatabaseError(.writeCanceled, "The app purged what was waiting.")
      for id in followed { writes.end(id, .discarded, error) }
      connection.tell(.purge)
      mail.purged(left)
    }
  }
}

extension PendingWrite {
  /// A write of the store's queue; nil for one that has ended.
  fileprivate init?(_ entry: QueueEntry, _ id: OutboundWriteID, _ progress: WriteProgress) {
    let state: State
    switch progress.outcome(of: id) {
    case nil: state = State(entry, progress.delivery(id))
    case .rejected(let error)?: state = .rejected(error)
    default: return nil
    }
    let content = WriteContent(entry.payload)
    let kind: Kind =
      switch content?.kind {
      case .update: .update
      case nil: .other
      default: .set
      }
    self.init(
      id: WriteReceipt.ID(id), kind: kind, path: entry.payload.path,
      changes: content?.changes ?? [], state: state,
      attempts: progress.attempts(entry, id), time: content?.time ?? 0)
  }
}

extension PendingWrite.State {
  fileprivate init(_ entry: QueueEntry, _ delivery: WriteDelivery) {
    self =
      switch (entry.state, delivery) {
      case (.rejected(let reason), _):
        .rejected(RejectionReason(reason).error(entry.payload.path))
      case (_, .sent): .sent
      case (_, .markStored), (_, .marked), (_, .returnedUnstored), (.queued, .queued): .queued
      case (.sent, .queued), (.outcomeUnknown, .queued): .outcomeUnknown
      }
  }
}

// MARK: - What the app asks for

extension Engine {
  /// Asks something about the user's queue between two steps, and waits for the reply; also until it is
  /// known who is signed in, while the token provider is asked.
  private func withQueue<R: Sendable>(
    isChange: Bool = false,
    _ question:
      @escaping @Sendable (QueueRequests, @escaping QueueRequests.Reply<R>) throws(DatabaseError) ->
      Void
  ) async throws(DatabaseError) -> R {
    let result: Result<R, DatabaseError> = await withCheckedContinuation { continuation in
      steps.post(
        .useQueue(isChange: isChange) { loop in
          do throws(DatabaseError) {
            try question(loop.requests) { continuation.resume(returning: $0) }
          } catch {
            continuation.resume(returning: .failure(error))
          }
        })
    }
    return try result.get()
  }

  /// A window of the current identity's writes in the order of their numbers.
  func writes(
    after number: UInt64?, limit: Int, rejectedOnly: Bool
  ) async throws(DatabaseError) -> [PendingWrite] {
    try await withQueue { requests, reply in
      reply(requests.list(after: number, limit: limit, rejectedOnly: rejectedOnly))
    }
  }

  /// What the current identity's queue holds.
  func writeTotals() async throws(DatabaseError) -> PendingWriteTotals {
    try await withQueue { requests, reply in reply(requests.totals()) }
  }

  /// Waits until a write has ended.
  func outcome(
    of id: WriteReceipt.ID
  ) async throws(DatabaseError) -> WriteReceipt.Outcome {
    let receipt = WriteReceipt()
    let known: WriteReceipt.Outcome? = try await withQueue { requests, reply in
      reply(requests.outcome(of: id, receipt))
    }
    guard let known else { return try await receipt.outcome }
    if case .failed(let error) = known { throw error }
    return known
  }

  /// Queues a refused write again, in its old place.
  func retry(_ id: WriteReceipt.ID) async throws(DatabaseError) {
    try await withQueue(isChange: true) { (requests, reply) throws(DatabaseError) in
      try requests.retry(id, reply)
    }
  }

  /// Replaces a refused write by another one, which is queued last.
  func edit(
    _ id: WriteReceipt.ID, to new: LocalWrite
  ) async throws(DatabaseError) -> WriteReceipt {
    try await withQueue(isChange: true) { (requests, reply) throws(DatabaseError) in
      try requests.edit(id, to: new, reply)
    }
  }

  /// Gives up a write that is not under way to the server.
  func discard(_ id: WriteReceipt.ID) async throws(DatabaseError) {
    try await withQueue(isChange: true) { (requests, reply) throws(DatabaseError) in
      try requests.discard(id, reply)
    }
  }
}
