package import ConiferDocument
package import ConiferEngine
import ConiferStorage

extension FirestoreEngine {
  /// Queues writes that the server makes whole or not at all.
  package func write(
    _ writes: [Mutation], _ ended: (@Sendable (FirestoreError?) -> Void)?
  ) -> WriteReceipt {
    let ended = ended.map { untilEnd($0) }
    if writes.isEmpty {
      let receipt = WriteReceipt.nothing()
      if let ended { run { $0.outbox.addCall { ended(nil) } } }
      run(.writesBefore) { $0.writes.tellDurability(of: receipt) }
      return receipt
    }
    let receipt = WriteReceipt()
    let completion = ended.map { ended -> @Sendable (DatabaseError?) -> Void in
      { ended($0.map { FirestoreError($0) }) }
    }
    steps.post(.write(writes, WriteCaller(receipt: receipt, completion: completion)))
    return receipt
  }

  /// Calls back once all writes that are pending now were accepted or refused.
  package func waitForPendingWrites(_ told: @escaping @Sendable (FirestoreError?) -> Void) {
    let told = untilEnd(told)
    run(.endsOfWrites) { $0.wait(told) }
  }
}

extension DocumentLoop {
  /// Calls back once all writes that are pending now were accepted or refused.
  fileprivate func wait(_ told: @escaping WriteWaiters.Completion) {
    guard store.lane != nil else { return outbox.addCall { [error = store.error] in told(error) } }
    writes.waiters.wait(told)
  }
}
