import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage

/// The callers of `waitForPendingWrites`, until the writes that waited then have ended.
final class WriteWaiters {
  typealias Told = @Sendable (FirestoreError?) -> Void

  private var pending = PendingWriteWaiters()
  private var waiters: [PendingWriteWaiters.Waiter: Told] = [:]
  private var last: PendingWriteWaiters.Waiter = 0
  private let store: DocumentStore
  private let outbox: Outbox

  init(_ store: DocumentStore, _ outbox: Outbox) {
    self.store = store
    self.outbox = outbox
  }

  /// The oldest write that waits and the newest that ever was; nil when none waits. What a later version queued is never
  /// sent here, so that nobody waits for it.
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

  /// Tells once all writes of now were accepted or refused.
  func wait(_ told: @escaping Told) {
    do throws(StoreError) {
      // The newest write that ever was may have ended before older ones.
      let newest = try ends()?.newest
      last += 1
      if pending.wait(last, until: newest) { return outbox.addCall { told(nil) } }
      waiters[last] = told
    } catch {
      let error = FirestoreError(error, "The queue could not be read")
      outbox.addCall { told(error) }
    }
  }

  /// Writes have left the queue: callers are told that waited only for writes older than the oldest that still waits.
  ///
  /// - Throws: when the queue cannot be read; it is called again then.
  func ended() throws(StoreError) {
    guard !waiters.isEmpty else { return }
    let oldest = try ends()?.oldest ?? .max
    tell(pending.ended(oldest - 1), nil)
  }

  /// Another user is signed in, whose writes are others.
  func userChanged() {
    tell(
      pending.userChanged(),
      FirestoreError(
        .cancelled,
        "Another user signed in, whose writes are others. Wait again for the writes of that user."))
  }

  private func tell(_ done: [PendingWriteWaiters.Waiter], _ error: FirestoreError?) {
    for waiter in done {
      guard let told = waiters.removeValue(forKey: waiter) else { continue }
      outbox.addCall { told(error) }
    }
  }

  /// The engine ends: nobody is told.
  func close() { waiters = [:] }
}
