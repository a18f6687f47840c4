import ConiferQuery
import ConiferSync
import ConiferTree

extension DatabaseQuery {
  /// Reads once from the server; after 3 s without a connection, what the cache has completely.
  ///
  /// - Parameter block: is given an error, or nil and the value; with an error the snapshot is empty.
  public final func getData(completion block: @escaping ((any Error)?, DataSnapshot) -> Void) {
    getData(policy: .default, completion: block)
  }

  /// Reads once from the server; after 3 s without a connection, what the cache has completely.
  ///
  /// - Throws: `disconnected` when neither has it, `permissionDenied`, `invalidQuery`, and others.
  public final func getData() async throws(DatabaseError) -> DataSnapshot {
    try await getData(policy: .default)
  }

  /// Reads once what a policy asks for; while the database is suspended, when it is resumed.
  ///
  /// - Parameters:
  ///   - policy: what may answer, and when.
  ///   - block: is given an error, or nil and the value; with an error the snapshot is empty.
  public final func getData(
    policy: ReadPolicy, completion block: @escaping ((any Error)?, DataSnapshot) -> Void
  ) {
    let user = UserCode<((any Error)?, DataSnapshot)>(block)
    let ref = self.ref
    let index = target.spec.index
    if let error {
      return database.deliver(error) { user(($0, DataSnapshot(ref, .empty, index))) }
    }
    engine.get(target, policy) { result in
      switch result {
      case .success(let known): user((nil, DataSnapshot(ref, known, index)))
      case .failure(let error): user((error, DataSnapshot(ref, .empty, index)))
      }
    }
  }

  /// Reads once what a policy asks for; while the database is suspended, when it is resumed.
  ///
  /// - Parameter policy: what may answer, and when.
  /// - Throws: `disconnected` when the server cannot be asked and nothing else may answer, `unavailable` when it did not
  ///   answer in time, `notCached` when it was not to be asked, `permissionDenied`, `invalidQuery`, and others.
  public final func getData(policy: ReadPolicy) async throws(DatabaseError) -> DataSnapshot {
    if let error { throw error }
    let answer = Promise<KnownNode>()
    engine.get(target, policy) { answer.resolve($0) }
    return DataSnapshot(ref, try await answer.value(), target.spec.index)
  }
}

extension DatabaseQuery {
  /// Observes until the first event: that of what the cache has, at once, if it has all.
  ///
  /// - Parameter eventType: what to hear of.
  /// - Returns: the value, or the child.
  /// - Throws: what an observer's cancel block is given; `cancelled`.
  nonisolated(nonsending)
    public final func observeSingleEvent(
      of eventType: DataEventType
    ) async throws(DatabaseError) -> DataSnapshot
  { try await observeSingleEventAndPreviousSiblingKey(of: eventType).0 }

  /// Observes until the first event, with the key of the child before.
  ///
  /// - Parameter eventType: what to hear of.
  /// - Returns: the child and the key before; nil for the first one, for one that went, and for a value.
  /// - Throws: what an observer's cancel block is given; `cancelled`.
  nonisolated(nonsending)
    public final func observeSingleEventAndPreviousSiblingKey(
      of eventType: DataEventType
    ) async throws(DatabaseError) -> (DataSnapshot, String?)
  {
    // The first event is kept; what comes between it and the end of the subscription is not.
    let subscription = Subscription(self, DataEvent.Kinds(eventType.kind), .bounded(1))
    defer { withExtendedLifetime(subscription) {} }
    guard let event = try await subscription.buffer.take(isolation: #isolation)?.first else {
      throw DatabaseError(
        .cancelled, "The task was cancelled, or the observers removed, before the first event.")
    }
    return (DataSnapshot(database, event), event.previousKey?.string)
  }
}
