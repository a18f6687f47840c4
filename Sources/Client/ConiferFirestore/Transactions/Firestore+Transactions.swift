import ConiferDocumentSync
public import Foundation

#if canImport(ObjectiveC)
  /// The pointer through which a transaction's block reports an error, as the Apple SDK has it.
  public typealias TransactionErrorPointer = NSErrorPointer
#else
  /// The pointer through which a transaction's block reports an error, as the Apple SDK has it.
  public typealias TransactionErrorPointer = UnsafeMutablePointer<NSError?>?
#endif

// Transactions need the server: they read from it, never from the cache, and their writes are not queued.
extension Firestore {
  /// Runs a transaction: the function reads and writes, and is called again when what it read has changed.
  ///
  /// - Parameters:
  ///   - options: how often it is called at most; nil for five times.
  ///   - body: reads, then writes. An error other than those of the transaction's reads ends it, a
  ///     ``FirestoreError`` too.
  /// - Returns: what the function returned, once the server has made the writes.
  /// - Throws: what the function throws, or a ``FirestoreError``: `aborted` or `failedPrecondition` when
  ///   the documents changed each time, `unavailable` without a connection.
  @discardableResult
  nonisolated(nonsending)
    public func runTransaction<Value>(
      options: TransactionOptions? = nil,
      _ body: nonisolated(nonsending) (Transaction) async throws -> Value
    ) async throws -> Value
  { try await run(options?.maxAttempts, body) }

  nonisolated(nonsending)
    private func run<Value>(
      _ wanted: Int?, _ body: nonisolated(nonsending) (Transaction) async throws -> Value
    ) async throws -> Value
  {
    let maxAttempts = wanted ?? 5
    guard maxAttempts >= 1 else {
      throw FirestoreError(
        .invalidArgument,
        "A transaction cannot be run \(maxAttempts) times. Set maxAttempts to one or more.")
    }
    var backoff = StreamBackoff()
    var attempts = 0
    // What one user asked for is not done as another one.
    let user = TransactionUser()
    while true {
      try await pause(&backoff)
      attempts += 1
      switch try await attempt(Transaction(self, user), body) {
      case .success(let value): return value
      case .failure(let error):
        guard error.isRetryableInTransaction, !user.hasChanged, !isTerminated,
          attempts < maxAttempts, !isOfFullDisk(error)
        else { throw error }
        if error.code == .resourceExhausted { backoff.jumpToLongest() }
      }
    }
  }

  /// Whether the store of a database without a server has no room, which no further attempt makes.
  private func isOfFullDisk(_ error: FirestoreError) -> Bool {
    configuration.localAuthority != nil && error.code == .resourceExhausted
  }

  /// Calls the function once, and commits what it wrote.
  ///
  /// - Returns: what the function returned, or what a read or the commit failed with.
  /// - Throws: the app's own errors, which end the transaction whatever their code.
  nonisolated(nonsending)
    private func attempt<Value>(
      _ transaction: Transaction,
      _ body: nonisolated(nonsending) (Transaction) async throws -> Value
    ) async throws -> Result<Value, FirestoreError>
  {
    let value: Value
    do {
      value = try await body(transaction)
    } catch {
      guard transaction.endAfterError(error), let known = error as? FirestoreError else {
        throw error
      }
      return .failure(known)
    }
    do throws(FirestoreError) {
      try await transaction.commit()
      return .success(value)
    } catch {
      return .failure(error)
    }
  }

  /// Waits until the next attempt is due.
  ///
  /// - Throws: `cancelled`.
  nonisolated(nonsending)
    func pause(_ backoff: inout StreamBackoff) async throws(FirestoreError)
  {
    let configuration = configuration
    let now = configuration.clock.now
    let jitter = Double(configuration.random() >> 11) * 0x1p-53
    let next = backoff.nextAttempt(at: now, jitter: jitter)
    guard next > now else { return }
    let due = Promise<Void>()
    configuration.clock.wake(at: next) { due.resolve(.success(())) }
    do throws(DatabaseError) {
      try await due.value()
    } catch {
      throw FirestoreError(error)
    }
  }
}

// The forms with a block that the Apple SDK has. The block may wait for its reads, and so is run on a
// background queue rather than the callback queue.
extension Firestore {
  /// Runs a transaction; the block is called again when what it read has changed, five times at most.
  ///
  /// - Parameters:
  ///   - updateBlock: reads, then writes; to give up, it sets the pointer to an error and returns nil.
  ///   - completion: given what the block returned, or an error; on the callback queue.
  public func runTransaction(
    _ updateBlock: @escaping (Transaction, TransactionErrorPointer) -> Any?,
    completion: @escaping (Any?, (any Error)?) -> Void
  ) { runTransaction(with: nil, block: updateBlock, completion: completion) }

  /// Runs a transaction; the block is called again when what it read has changed.
  ///
  /// - Parameters:
  ///   - options: how often it is called at most; nil for the usual.
  ///   - updateBlock: reads, then writes; to give up, it sets the pointer to an error and returns nil.
  ///   - completion: given what the block returned, or an error; on the callback queue.
  public func runTransaction(
    with options: TransactionOptions?,
    block updateBlock: @escaping (Transaction, TransactionErrorPointer) -> Any?,
    completion: @escaping (Any?, (any Error)?) -> Void
  ) {
    let block = UserValue(value: updateBlock)
    let user = UserCode<(Any?, (any Error)?)>(completion)
    let maxAttempts = options?.maxAttempts
    Task { [self] in
      do {
        let value = try await run(maxAttempts) { try await Self.run(block, $0) }
        deliver { user((value.value, nil)) }
      } catch {
        deliver { user((nil, error)) }
      }
    }
  }

  /// Runs a transaction; the block is called again when what it read has changed.
  ///
  /// - Parameters:
  ///   - options: how often it is called at most; nil for the usual.
  ///   - updateBlock: reads, then writes; to give up, it sets the pointer to an error and returns nil. It
  ///     runs on a background queue.
  /// - Returns: what the block returned.
  /// - Throws: the error that the block set, or a ``FirestoreError``.
  @discardableResult
  nonisolated(nonsending)
    public func runTransaction(
      with options: TransactionOptions?,
      block updateBlock: @escaping (Transaction, TransactionErrorPointer) -> Any?
    ) async throws -> Any?
  {
    let block = UserValue(value: updateBlock)
    return try await run(options?.maxAttempts) { try await Self.run(block, $0) }.value
  }

  /// Runs a transaction; the block is called again when what it read has changed, five times at most.
  ///
  /// - Parameter updateBlock: reads, then writes; to give up, it sets the pointer to an error and returns
  ///   nil. It runs on a background queue.
  /// - Returns: what the block returned.
  /// - Throws: the error that the block set, or a ``FirestoreError``.
  @discardableResult
  nonisolated(nonsending)
    public func runTransaction(
      _ updateBlock: @escaping (Transaction, TransactionErrorPointer) -> Any?
    ) async throws -> Any?
  { try await runTransaction(with: nil, block: updateBlock) }

  /// Calls a block that may block its thread.
  nonisolated(nonsending)
    private static func run(
      _ block: UserValue<(Transaction, TransactionErrorPointer) -> Any?>,
      _ transaction: Transaction
    ) async throws -> UserValue<Any?>
  {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        var error: NSError?
        let value = block.value(transaction, &error)
        if let error {
          continuation.resume(throwing: FirestoreError(error) ?? error)
        } else {
          continuation.resume(returning: UserValue(value: value))
        }
      }
    }
  }
}
