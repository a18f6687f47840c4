import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage

/// The callers of `waitForPendingWrites`, until the writes that waited then have ended.
final class WriteWaiters {
  typealias Completion = @Sendable (FirestoreError?) -> Void

  private var pending = PendingWriteWaiters()
  private var waiters: [PendingWriteWaiters.Waiter: Completion] = [:]
  private var last: PendingWriteWaiters.Waiter = 0
  private let store: DocumentStore
  private let outbox: Outbox

  init(_ store: DocumentStore, _ outbox: Outbox) {
    self.store = store
    self.outbox = outbox
  }

  /// The waiting writes from the oldest on, up to the first that counts for all waiters, and the newest write ever. Writes
  /// that a later version queued are never sent by this version, so nobody waits for them.
  private func waiting() throws(StoreError) -> (oldest: [BatchID], newest: BatchID?) {
    try store.read { (view, lane) throws(StoreError) in
      let totals = try view.totals(lane)
      guard totals.pending > 0, let newest = totals.newest else { return ([], nil) }
      var oldest: [BatchID] = []
      var last: WriteID?
      var page = 1
      while true {
        let entries = try view.entries(lane, after: last, limit: page)
        for entry in entries where MutationBatch(entry.payload) != nil {
          oldest.append(BatchID(entry.id.rawValue))
          if oldest.last.map(pending.isAwaited) == true {
            return (oldest, BatchID(newest.rawValue))
          }
        }
        guard entries.count == page else { return (oldest, BatchID(newest.rawValue)) }
        (last, page) = (entries.last?.id, 64)
      }
    }
  }

  /// Calls back once all writes that are pending now were accepted or refused.
  func wait(_ completion: @escaping Completion) {
    do throws(StoreError) {
      // The newest write may have ended before older ones.
      let waiting = try waiting()
      let newest = waiting.oldest.isEmpty ? nil : waiting.newest
      last += 1
      if pending.wait(last, until: newest) { return outbox.addCall { completion(nil) } }
      waiters[last] = completion
    } catch {
      let error = FirestoreError(error, "The queue could not be read")
      outbox.addCall { completion(error) }
    }
  }

  /// A write that the server refused is queued again: nobody waits for it who waits already.
  func requeued(_ id: WriteID) { pending.requeued(BatchID(id.rawValue)) }

  /// Calls back the waiters whose writes have all ended.
  ///
  /// - Throws: when the queue cannot be read; it is called again then.
  func ended() throws(StoreError) {
    guard !waiters.isEmpty else { return }
    tell(pending.ended(left: try waiting().oldest), nil)
  }

  /// Another user is signed in, with a queue of other writes.
  func userChanged() {
    tell(
      pending.userChanged(),
      FirestoreError(
        .cancelled,
        "Another user signed in, whose writes are others. Wait again for the writes of that user."))
  }

  private func tell(_ done: [PendingWriteWaiters.Waiter], _ error: FirestoreError?) {
    for waiter in done {
      guard let completion = waiters.removeValue(forKey: waiter) else { continue }
      outbox.addCall { completion(error) }
    }
  }

  /// The engine ends: nobody is told.
  func close() { waiters = [:] }
}
