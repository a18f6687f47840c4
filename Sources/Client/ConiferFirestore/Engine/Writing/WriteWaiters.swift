import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage

/// Who waits until the writes of now have ended.
final class WriteWaiters {
  typealias Told = @Sendable (FirestoreError?) -> Void

  private var pending = PendingWrites()
  private var waiters: [PendingWrites.Waiter: Told] = [:]
  private var last: PendingWrites.Waiter = 0
  private let store: DocumentStore
  private let outbox: Outbox

  init(_ store: DocumentStore, _ outbox: Outbox) {
    self.store = store
    self.outbox = outbox
  }

  private func totals() throws(StoreError) -> QueueTotals {
    try store.read { (view, lane) throws(StoreError) in try view.totals(lane) }
  }

  /// Tells once all writes of now were accepted or refused.
  func wait(_ told: @escaping Told) {
    do throws(StoreError) {
      let totals = try totals()
      // The newest write that ever was may have ended before older ones.
      let newest = totals.pending > 0 ? totals.newest.map { BatchID($0.rawValue) } : nil
      last += 1
      if pending.wait(last, until: newest) { return outbox.addCall { told(nil) } }
      waiters[last] = told
    } catch {
      let error = FirestoreError(error, "The queue could not be read")
      outbox.addCall { told(error) }
    }
  }

  /// Writes have left the queue: those who waited for all up to the oldest that still waits are told.
  ///
  /// - Throws: when the queue cannot be read; it is called again then.
  func ended() throws(StoreError) {
    guard !waiters.isEmpty else { return }
    let totals = try totals()
    let oldest = totals.oldest.map { BatchID($0.rawValue) } ?? .max
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

  private func tell(_ done: [PendingWrites.Waiter], _ error: FirestoreError?) {
    for waiter in done {
      guard let told = waiters.removeValue(forKey: waiter) else { continue }
      outbox.addCall { told(error) }
    }
  }

  /// The engine ends: nobody is told.
  func close() { waiters = [:] }
}
