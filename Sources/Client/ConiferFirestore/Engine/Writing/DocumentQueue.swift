import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage

/// The app's requests to its queue: they list, retry and discard writes that wait, and writes that the server refused.
struct DocumentQueue {
  let store: DocumentStore
  let writes: DocumentWrites
  let sending: WriteSending
  let user: SignedInUser

  private func rethrowing<R>(
    _ what: String, _ body: () throws(StoreError) -> R
  ) throws(FirestoreError) -> R {
    do throws(StoreError) { return try body() } catch { throw FirestoreError(error, what) }
  }

  // MARK: Questions

  /// A window of the writes in the order of their numbers; what cannot be read is listed without changes.
  func list(
    after number: UInt64?, limit: Int, rejectedOnly: Bool
  ) throws(FirestoreError) -> [PendingDocumentWrite] {
    let after = number.map { WriteID(rawValue: $0) }
    return try rethrowing("The queue could not be read") { () throws(StoreError) in
      try store.read { (view, lane) throws(StoreError) in
        var found = try view.rejectedEntries(lane, after: after, limit: limit)
        if !rejectedOnly { found += try view.entries(lane, after: after, limit: limit) }
        let sorted = found.sorted { $0.id < $1.id }
        return sorted.prefix(limit).map { entry in
          let id = OutboundWriteID(lane, entry.id)
          return PendingDocumentWrite(
            id: WriteReceipt.ID(id), batch: MutationBatch(entry.payload) ?? .unreadable,
            state: state(entry, id), attempts: writes.progress.attempts(entry, id))
        }
      }
    }
  }

  /// What the queue holds.
  func totals() -> Result<PendingWriteTotals, DatabaseError> {
    guard store.lane != nil else { return .failure(store.engine.error) }
    do throws(StoreError) {
      return .success(
        try store.read { (view, lane) throws(StoreError) in
          let totals = try view.totals(lane)
          return PendingWriteTotals(
            pending: totals.pending, rejected: totals.rejected, bytes: totals.bytes)
        })
    } catch {
      return .failure(DatabaseError(error, "The queue could not be read"))
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

  private func state(_ entry: QueueEntry, _ id: OutboundWriteID) -> WriteState {
    if case .sent = writes.progress.delivery(id) { return .sent }
    // The stream on which it was sent has ended.
    return entry.state == .sent ? .outcomeUnknown : entry.state
  }

  /// How a write ended; nil when it has not ended, and then the receipt is told of its end.
  func outcome(
    of receiptID: WriteReceipt.ID, _ receipt: WriteReceipt
  ) throws(FirestoreError) -> WriteReceipt.Outcome? {
    let id = OutboundWriteID(receiptID, in: store.tree)
    let known = try rethrowing("The queue could not be read") {
      () throws(StoreError) -> WriteReceipt.Outcome? in
      try store.read { (view, _) throws(StoreError) -> WriteReceipt.Outcome? in
        if let end = try view.finishedWrite(id.lane, id.number) {
          return WriteReceipt.Outcome(end.outcome, id.lane)
        }
        guard let entry = try view.entry(id.lane, id.number) else {
          return .failed(DatabaseError(.unknownWrite, "The store knows no write \(receiptID)."))
        }
        guard case .rejected(let reason) = entry.state else { return nil }
        return .rejected(DatabaseError(FirestoreError(RejectionReason(reason).error)))
      }
    }
    if case .failed(let error) = known { throw FirestoreError(error) }
    if known == nil { writes.follow(id, WriteCaller(receipt: receipt)) }
    return known
  }

  // MARK: Changes

  /// Finds a write of the user who is signed in that waits or was refused.
  private func find(
    _ receiptID: WriteReceipt.ID
  ) throws(FirestoreError) -> (id: OutboundWriteID, entry: QueueEntry, batch: MutationBatch?) {
    guard let lane = store.lane else { throw store.error }
    let id = OutboundWriteID(receiptID, in: lane.tree)
    let entry = try rethrowing("The queue could not be read") { () throws(StoreError) in
      try store.read { (view, lane) throws(StoreError) in try view.entry(lane, id.number) }
    }
    guard id.lane == lane, let entry else {
      throw FirestoreError(.notFound, "The user's queue holds no write \(receiptID).")
    }
    return (id, entry, MutationBatch(entry.payload))
  }

  /// Queues a refused write again, in its old place.
  func retry(_ receiptID: WriteReceipt.ID) throws(FirestoreError) {
    let (id, entry, batch) = try find(receiptID)
    guard entry.state.isRejected, !sending.isUnstored(id) else {
      throw FirestoreError(
        .failedPrecondition, "The server did not refuse the write \(receiptID): it waits.")
    }
    guard let batch else {
      throw FirestoreError(
        .failedPrecondition,
        "This version cannot read the write \(receiptID), and so cannot send it. Discard it.")
    }
    try change(.setState(id.lane, id.number, .queued), "The write was not queued again") {
      (view) throws(StoreError) in
      try view.entry(id.lane, id.number)?.state == .queued
    } then: { [store, writes, sending] in
      if id.lane == store.lane { writes.waiters.requeued(id.number) }
      writes.changed(batch, .write, in: id.lane)
      sending.requeued()
    }
  }

  /// Changes a write. A commit that is reported as failed may have been made nevertheless. That is
  /// checked at once, or when the storage works again.
  ///
  /// - Parameters:
  ///   - what: what is not done when that fails, as a sentence.
  ///   - isMade: whether the store has the change.
  ///   - then: what follows once it has.
  ///   - otherwise: what follows once it is known not to have it.
  private func change(
    _ edit: StorageEdit, _ what: String,
    _ isMade: @escaping (any DocumentView) throws(StoreError) -> Bool,
    then: @escaping () -> Void, otherwise: @escaping () -> Void = {}
  ) throws(FirestoreError) {
    let failure: StoreError
    do throws(StoreError) {
      try store.commit([edit])
      return then()
    } catch { failure = error }
    let isKnown: () throws(StoreError) -> Bool = { [store] () throws(StoreError) in
      try store.read { (view, _) throws(StoreError) in try isMade(view) }
    }
    do throws(StoreError) {
      if try isKnown() { return then() }
      otherwise()
    } catch {
      writes.recovery.failed { () throws(StoreError) in try isKnown() ? then() : otherwise() }
    }
    throw FirestoreError(failure, what)
  }

  /// Gives up a write that is not under way to the server.
  func discard(_ receiptID: WriteReceipt.ID) throws(FirestoreError) {
    let (id, entry, batch) = try find(receiptID)
    let isRefused = entry.state.isRejected
    guard isRefused ? !sending.isUnstored(id) : sending.withdraw(id) else {
      throw FirestoreError(
        .failedPrecondition,
        "The server has the write \(receiptID), and decides. Wait for its outcome; what it refuses may "
          + "be discarded.")
    }
    let wasSent = !isRefused && entry.attempts > 0
    let doubt = wasSent ? ", of which nobody knows whether the server made it" : ""
    try change(.finish(id.lane, id.number, .discarded), "The write was not discarded") {
      (view) throws(StoreError) in
      try view.finishedWrite(id.lane, id.number)?.outcome == .discarded
    } then: { [writes] in
      writes.end(
        id, .discarded,
        DatabaseError(.discarded, "The app discarded the write \(receiptID)\(doubt)."))
      writes.changed(batch ?? .unreadable, .write, in: id.lane)
    } otherwise: { [sending] in
      // The pipeline may have read it already to send it next.
      sending.requeued()
    }
  }
}
