// The async forms, with the names of the Apple SDK. They return when the server has answered;
// offline they wait for a connection. The write is shown and queued at once, and goes on when the
// waiting task is cancelled.
//
// Priorities are `any Sendable`. If they were `Any`, a trailing closure with typed parameters would
// match a priority, and a call with a completion block would resolve to the wrong method.
extension DatabaseReference {
  /// Replaces what is here, and waits until the server has.
  ///
  /// - Parameter value: a String, a number, a Bool, a dictionary, an array or a server value; nil
  ///   deletes.
  /// - Returns: this place.
  /// - Throws: why it is invalid, was not queued, or was refused; `cancelled`.
  @discardableResult
  nonisolated(nonsending)
    public func setValue(_ value: Any?) async throws(DatabaseError) -> DatabaseReference
  { try await applied(.set(value)) }

  /// Replaces what is here, with a priority, and waits until the server has.
  ///
  /// - Parameters:
  ///   - value: as in ``setValue(_:)->WriteReceipt``.
  ///   - priority: a String or a number; nil for none.
  /// - Returns: this place.
  /// - Throws: why it is invalid, was not queued, or was refused; `cancelled`.
  @discardableResult
  nonisolated(nonsending)
    public func setValue(
      _ value: Any?, andPriority priority: (any Sendable)?
    ) async throws(DatabaseError) -> DatabaseReference
  { try await applied(.set(value, priority: priority)) }

  /// Deletes what is here, and waits until the server has.
  ///
  /// - Returns: this place.
  /// - Throws: why it was not queued, or was refused; `cancelled`.
  @discardableResult
  nonisolated(nonsending)
    public func removeValue() async throws(DatabaseError) -> DatabaseReference
  { try await applied(.remove) }

  /// Sets the priority of what is here, which must not be empty, and waits until the server has.
  ///
  /// - Parameter priority: a String or a number; nil for none.
  /// - Returns: this place.
  /// - Throws: why it is invalid, was not queued, or was refused; `cancelled`.
  @discardableResult
  nonisolated(nonsending)
    public func setPriority(_ priority: Any?) async throws(DatabaseError) -> DatabaseReference
  { try await applied(.priority(priority)) }

  /// Replaces several places below at once, all or none, and waits until the server has.
  ///
  /// - Parameter values: values by path from here, such as `posts/k`; `NSNull` deletes. No path may
  ///   be another one's or lead to one below it.
  /// - Returns: this place.
  /// - Throws: why it is invalid, was not queued, or was refused; `cancelled`.
  @discardableResult
  nonisolated(nonsending)
    public func updateChildValues(
      _ values: [AnyHashable: Any]
    ) async throws(DatabaseError) -> DatabaseReference
  { try await applied(.update(values)) }

  /// Queues a write and waits for the server's answer.
  nonisolated(nonsending)
    func applied(_ write: WriteOperation) async throws(DatabaseError) -> DatabaseReference
  {
    try await enqueue(write).acknowledged()
    return self
  }

  /// Runs a transaction: the block is run on what is known here, and again when the server has another
  /// value.
  ///
  /// - Parameters:
  ///   - block: changes the data, or gives up; it may run several times, on the callback queue.
  ///   - localEvents: whether observers see the result before the server has it.
  /// - Returns: whether it was committed, and what is here then.
  /// - Throws: `tooManyRetries`, `overridden`, `writeCanceled`, why its result is invalid, and
  ///   what the server refused; `cancelled`.
  @discardableResult
  nonisolated(nonsending)
    public func runTransactionBlock(
      _ block: @escaping (MutableData) -> TransactionResult,
      withLocalEvents localEvents: Bool = true
    ) async throws(DatabaseError) -> (committed: Bool, snapshot: DataSnapshot)
  {
    let answer = Promise<(committed: Bool, snapshot: DataSnapshot)>()
    let update = UserValue(value: block)
    runTransaction({ update.value($0) }, raisesLocalEvents: localEvents) {
      error, committed, snapshot in
      answer.resolve(error.map { .failure($0) } ?? .success((committed, snapshot)))
    }
    return try await answer.value()
  }
}

extension DatabaseReference {
  /// Replaces what is here when the connection ends; waits until the server has taken note.
  ///
  /// - Parameter value: as in ``setValue(_:)->WriteReceipt``.
  /// - Returns: this place.
  /// - Throws: why it is invalid, or was refused; `cancelled`.
  @discardableResult
  nonisolated(nonsending)
    public func onDisconnectSetValue(
      _ value: Any?
    ) async throws(DatabaseError) -> DatabaseReference
  { try await answered { onDisconnectSetValue(value, withCompletionBlock: $0) } }

  /// Replaces what is here when the connection ends, with a priority; waits until the server has taken
  /// note.
  ///
  /// - Parameters:
  ///   - value: as in ``setValue(_:)->WriteReceipt``.
  ///   - priority: a String or a number; nil for none.
  /// - Returns: this place.
  /// - Throws: why it is invalid, or was refused; `cancelled`.
  @discardableResult
  nonisolated(nonsending)
    public func onDisconnectSetValue(
      _ value: Any?, andPriority priority: (any Sendable)?
    ) async throws(DatabaseError) -> DatabaseReference
  {
    try await answered {
      onDisconnectSetValue(value, andPriority: priority, withCompletionBlock: $0)
    }
  }

  /// Deletes what is here when the connection ends; waits until the server has taken note.
  ///
  /// - Returns: this place.
  /// - Throws: why it was refused; `cancelled`.
  @discardableResult
  nonisolated(nonsending)
    public func onDisconnectRemoveValue() async throws(DatabaseError) -> DatabaseReference
  { try await answered { onDisconnectRemoveValue(completionBlock: $0) } }

  /// Replaces several places below when the connection ends; waits until the server has taken note.
  ///
  /// - Parameter values: as in ``updateChildValues(_:)->WriteReceipt``.
  /// - Returns: this place.
  /// - Throws: why it is invalid, or was refused; `cancelled`.
  @discardableResult
  nonisolated(nonsending)
    public func onDisconnectUpdateChildValues(
      _ values: [AnyHashable: Any]
    ) async throws(DatabaseError) -> DatabaseReference
  { try await answered { onDisconnectUpdateChildValues(values, withCompletionBlock: $0) } }

  /// Forgets what was to happen here and below when the connection ends; waits until the server has.
  ///
  /// - Returns: this place.
  /// - Throws: why it was refused; `cancelled`.
  @discardableResult
  nonisolated(nonsending)
    public func cancelDisconnectOperations() async throws(DatabaseError) -> DatabaseReference
  { try await answered { cancelDisconnectOperations(completionBlock: $0) } }

  /// Makes a call and waits until its completion block is called.
  nonisolated(nonsending)
    private func answered(
      _ call: (@escaping CompletionBlock) -> Void
    ) async throws(DatabaseError) -> DatabaseReference
  {
    let answer = Promise<Void>()
    call { error, _ in
      guard let error else { return answer.resolve(.success(())) }
      answer.resolve(.failure(error as? DatabaseError ?? DatabaseError(.internal, "\(error)")))
    }
    try await answer.value()
    return self
  }
}
