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

  /// The oldest waiting write and the newest write ever; nil when none waits. Writes that a later
  /// version queued are never sent by this version, so nobody waits for them.
  private func ends() throws(StoreError) -> (oldest: BatchID, newest: BatchID)? {
    try store.read { (view, lane) throws(StoreError) in
      let totals = try view.totals(lane)
      guard totals.pending > 0, let newest = totals.newest else { return nil }
      var last: WriteID?
      var page = 1
      while true {
        let entries = try view.entries(lane, after: last, limit: page)
        if let oldest = entries.first(where: { MutationBatch($0.payload) != nil }) {
          return (BatchID(oldest.id.rawValue), BatchID(newest.rawValue))
        }
        guard entries.count == page else { return nil }
        (last, page) = (entries.last?.id, 64)
      }
    }
  }

  /// Calls back once all writes that are pending now were accepted or refused.
  func wait(_ completion: @escaping Completion) {
    do throws(StoreError) {
      // The newest write may have ended before older ones.
      let newest = try ends()?.newest
      last += 1
      if pending.wait(last, until: newest) { return outbox.addCall { completion(nil) } }
      waiters[last] = completion
    } catch {
      let error = FirestoreError(error, "The queue could not be read")
      outbox.addCall { completion(error) }
    }
  }

  /// Calls back the waiters whose writes are all older than the oldest write that still waits.
  ///
  /// - Throws: when the queue cannot be read; it is called again then.
  func ended() throws(StoreError) {
    guard !waiters.isEmpty else { return }
    let oldest = try ends()?.oldest ?? .max
    tell(pending.ended(oldest - 1), nil)
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
