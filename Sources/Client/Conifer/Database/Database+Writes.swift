import ConiferTree

// The queue of writes that the server has not finally answered, of whoever is signed in.
extension Database {
  /// A window of the waiting and refused writes, oldest first.
  ///
  /// - Parameters:
  ///   - id: the last write before the window; nil for the beginning.
  ///   - limit: the most writes to give.
  /// - Throws: what the storage does; `cancelled`.
  public func pendingWrites(
    after id: WriteReceipt.ID? = nil, limit: Int = 100
  ) async throws(DatabaseError) -> [PendingWrite] {
    try await engine.writes(after: id?.number, limit: max(0, limit), rejectedOnly: false)
  }

  /// A window of the writes that the server refused and that wait for the app, oldest first.
  ///
  /// - Parameters:
  ///   - id: the last write before the window; nil for the beginning.
  ///   - limit: the most writes to give.
  /// - Throws: what the storage does; `cancelled`.
  public func rejectedWrites(
    after id: WriteReceipt.ID? = nil, limit: Int = 100
  ) async throws(DatabaseError) -> [PendingWrite] {
    try await engine.writes(after: id?.number, limit: max(0, limit), rejectedOnly: true)
  }

  /// How many writes wait, and what they take; known without reading them.
  ///
  /// - Throws: what the storage does; `cancelled`.
  public func pendingWriteTotals() async throws(DatabaseError) -> PendingWriteTotals {
    try await engine.writeTotals()
  }

  /// How a write ended; waits until it has, also for one of a run before.
  ///
  /// - Parameter id: what its receipt gave.
  /// - Throws: `unknownWrite` for one that the store does not know, or no longer; `cancelled`.
  public func outcome(of id: WriteReceipt.ID) async throws(DatabaseError) -> WriteReceipt.Outcome {
    try await engine.outcome(of: id)
  }

  /// Queues a refused write again, as it is; its values show again.
  ///
  /// - Throws: `unknownWrite` for one that is not refused; what the storage does.
  public func retry(_ id: WriteReceipt.ID) async throws(DatabaseError) {
    try await engine.retry(id)
  }

  /// Replaces a refused write by one of the same place with another value, which is queued last.
  ///
  /// - Parameters:
  ///   - id: the refused write.
  ///   - value: as `setValue` takes it for a set, as `updateChildValues` does for an update.
  /// - Returns: what follows the new write.
  /// - Throws: `unknownWrite` for one that is not refused, why the value is invalid, and what the
  ///   storage does.
  nonisolated(nonsending)
    public func edit(
      _ id: WriteReceipt.ID, to value: Any?
    ) async throws(DatabaseError) -> WriteReceipt
  {
    let engine = engine
    // The window begins after the number before, so it holds this write if it is there.
    let before = id.number == 0 ? nil : id.number - 1
    let found = try await engine.writes(after: before, limit: 1, rejectedOnly: true)
    guard let old = found.first, old.id == id else {
      throw DatabaseError(.unknownWrite, "There is no refused write \(id).")
    }
    let write: LocalWrite
    switch old.kind {
    case .set where old.path.last?.isPriority == true:
      let place = old.path.parent ?? .root
      write = .set(old.path, try WriteRules.priority(value, at: place))
    case .set: write = .set(old.path, try WriteRules.set(value, at: old.path))
    case .update:
      guard let values = value as? [AnyHashable: Any], !values.isEmpty else {
        throw DatabaseError(
          .invalidUpdate, "The write \(id) is an update, and the new value is no dictionary.",
          remedy: "Give a dictionary of paths to values.")
      }
      write = .update(old.path, try WriteRules.update(values, at: old.path))
    case .other:
      throw DatabaseError(
        .unknownWrite, "The write \(id) is of a kind that this version does not read.",
        remedy: "Discard it, or open the store with the program that queued it.")
    }
    return try await engine.edit(id, to: write)
  }

  /// Gives up a write that waits, is refused or of unknown outcome; observers see what is there without it.
  ///
  /// It is not sent any more. If its outcome is unknown, the server may have done it nevertheless.
  ///
  /// - Parameter id: the write.
  /// - Throws: `unknownWrite` for one that is under way to the server, has ended or is another user's; what the
  ///   storage does.
  public func discard(_ id: WriteReceipt.ID) async throws(DatabaseError) {
    try await engine.discard(id)
  }
}
