import ConiferTree

// The forms for async code. They return when the server has answered, which offline takes until there
// is a connection; the write is local, shown and queued at once all the same, and goes on when the
// waiting task is cancelled.
extension DatabaseReference {
  /// Replaces what is here.
  ///
  /// - Parameters:
  ///   - value: as in ``setValue(_:)``.
  ///   - priority: a String or a number; nil for none.
  /// - Throws: why it makes no sense, was not queued, or was refused; `cancelled`.
  nonisolated(nonsending)
    public func set(_ value: Any?, priority: Any? = nil) async throws(DatabaseError)
  { try await put(value, priority: priority).acknowledged() }

  /// Replaces several places below at once, all or none, and leaves others as they are.
  ///
  /// - Parameter values: values by path from here; nil deletes.
  /// - Throws: why it makes no sense, was not queued, or was refused; `cancelled`.
  nonisolated(nonsending)
    public func update(_ values: [String: Any?]) async throws(DatabaseError)
  { try await merge(values.mapValues { $0 as Any }).acknowledged() }

  /// Deletes what is here.
  ///
  /// - Throws: why it was not queued, or was refused; `cancelled`.
  public func remove() async throws(DatabaseError) { try await put(nil).acknowledged() }

  /// Sets the priority of what is here.
  ///
  /// - Parameter priority: a String or a number; nil for none.
  /// - Throws: why it makes no sense, was not queued, or was refused; `cancelled`.
  nonisolated(nonsending)
    public func prioritize(_ priority: Any?) async throws(DatabaseError)
  { try await setPriority(priority).acknowledged() }

  /// Runs a transaction: `update` is run on what is here, and again when the server has another value.
  ///
  /// - Parameters:
  ///   - localEvents: whether observers see the result before the server has it.
  ///   - update: changes the data, or gives up; it may run several times, on the callback queue.
  /// - Returns: whether it was committed, and what is here now.
  /// - Throws: `tooManyRetries`, `overridden`, `writeCanceled`, why its result makes no sense, and
  ///   what the server refused.
  public func transact(
    withLocalEvents localEvents: Bool = true,
    _ update: @escaping @Sendable (MutableData) -> TransactionResult
  ) async throws(DatabaseError) -> (committed: Bool, snapshot: DataSnapshot) {
    let answer = Promise<(committed: Bool, snapshot: DataSnapshot)>()
    runTransaction(update, raisesLocalEvents: localEvents) { error, committed, snapshot in
      answer.settle(error.map { .failure($0) } ?? .success((committed, snapshot)))
    }
    return try await answer.value()
  }
}

extension DatabaseReference {
  /// Has the server replace what is here when the connection ends; returns when it has taken note.
  ///
  /// - Throws: why it makes no sense, or was refused; `cancelled`.
  nonisolated(nonsending)
    public func setOnDisconnect(_ value: Any?) async throws(DatabaseError)
  {
    let answer = Promise<Void>()
    onDisconnectSetValue(value, withCompletionBlock: answer.block)
    try await answer.value()
  }

  /// Has the server replace places below when the connection ends; returns when it has taken note.
  ///
  /// - Throws: why it makes no sense, or was refused; `cancelled`.
  nonisolated(nonsending)
    public func updateOnDisconnect(_ values: [String: Any?]) async throws(DatabaseError)
  {
    let answer = Promise<Void>()
    onDisconnectUpdateChildValues(
      values.mapValues { $0 as Any }, withCompletionBlock: answer.block)
    try await answer.value()
  }

  /// Has the server delete what is here when the connection ends; returns when it has taken note.
  ///
  /// - Throws: why it was refused; `cancelled`.
  public func removeOnDisconnect() async throws(DatabaseError) {
    let answer = Promise<Void>()
    onDisconnectRemoveValue(completionBlock: answer.block)
    try await answer.value()
  }

  /// Has the server forget what was to happen here and below; returns when it has.
  ///
  /// - Throws: why it was refused; `cancelled`.
  public func cancelOnDisconnect() async throws(DatabaseError) {
    let answer = Promise<Void>()
    cancelDisconnectOperations(completionBlock: answer.block)
    try await answer.value()
  }
}

extension Promise<Void> {
  /// Settles with what a completion block is given.
  fileprivate var block: DatabaseReference.CompletionBlock {
    { error, _ in
      guard let error else { return self.settle(.success(())) }
      self.settle(
        .failure(error as? DatabaseError ?? DatabaseError(.internal, "\(error)")))
    }
  }
}
