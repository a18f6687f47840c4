import ConiferSync
import ConiferTree
import Synchronization

// A transaction runs on the cached data, and again when the server has other data. Offline it is
// queued until the process ends.
extension DatabaseReference {
  /// Runs a transaction.
  ///
  /// - Parameter block: changes the data, or gives up; it may run several times, on the callback
  ///   queue.
  public func runTransactionBlock(_ block: @escaping (MutableData) -> TransactionResult) {
    runTransaction(block, nil, true)
  }

  /// Runs a transaction.
  ///
  /// - Parameters:
  ///   - block: changes the data, or gives up; it may run several times, on the callback queue.
  ///   - completionBlock: is given the error or nil, whether it was committed, and what is here then.
  public func runTransactionBlock(
    _ block: @escaping (MutableData) -> TransactionResult,
    andCompletionBlock completionBlock: @escaping ((any Error)?, Bool, DataSnapshot?) -> Void
  ) { runTransaction(block, completionBlock, true) }

  /// Runs a transaction, whose steps observers need not see.
  ///
  /// - Parameters:
  ///   - block: changes the data, or gives up; it may run several times, on the callback queue.
  ///   - completionBlock: is given the error or nil, whether it was committed, and what is here then.
  ///   - localEvents: whether observers see the result before the server has it.
  public func runTransactionBlock(
    _ block: @escaping (MutableData) -> TransactionResult,
    andCompletionBlock completionBlock: (((any Error)?, Bool, DataSnapshot?) -> Void)?,
    withLocalEvents localEvents: Bool
  ) { runTransaction(block, completionBlock, localEvents) }

  private func runTransaction(
    _ block: @escaping (MutableData) -> TransactionResult,
    _ completion: (((any Error)?, Bool, DataSnapshot?) -> Void)?, _ localEvents: Bool
  ) {
    let update = UserValue(value: block)
    let told = completion.map { UserCode<((any Error)?, Bool, DataSnapshot?)>($0) }
    runTransaction({ update.value($0) }, raisesLocalEvents: localEvents) {
      [database] error, committed, snapshot in
      told?((error, committed, error == nil ? snapshot : nil))
      if let error, told == nil { database.report(error) }
    }
  }

  /// Hands a transaction to the engine, or tells why it is none.
  func runTransaction(
    _ update: @escaping @Sendable (MutableData) -> TransactionResult, raisesLocalEvents: Bool,
    completion: @escaping @Sendable (DatabaseError?, Bool, DataSnapshot) -> Void
  ) {
    do throws(DatabaseError) {
      if let error { throw error }
      try WriteRules.check(path)
    } catch {
      return database.deliver { completion(error, false, DataSnapshot(self, .empty)) }
    }
    let mistake = Mistake()
    engine.transact(
      at: path, raisesLocalEvents: raisesLocalEvents,
      update: { [path] node in
        let data = MutableData(node, at: path)
        let result = update(data)
        mistake.error = result.error
        guard let node = result.node, mistake.error == nil else { return .abort }
        return .write(node)
      },
      completion: { error, committed, known in
        completion(error ?? mistake.error, committed, DataSnapshot(self, known))
      })
  }
}

/// What was wrong with the last result of a transaction's function.
private final class Mistake: Sendable {
  private let last = Mutex<DatabaseError?>(nil)

  var error: DatabaseError? {
    get { last.withLock { $0 } }
    set { last.withLock { $0 = newValue } }
  }
}
