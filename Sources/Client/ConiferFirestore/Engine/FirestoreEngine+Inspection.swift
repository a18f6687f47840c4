package import ConiferDocument
package import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
package import ConiferStorage
package import ConiferWire

/// The state of an engine at one moment between two steps.
package struct EngineInspection: Sendable {
  /// What the server is asked for, also while the stream is closed.
  package var targets: [TargetID: WatchTarget]
  /// The queries that are listened to, by their target.
  package var queries: [TargetID: [DocumentQuery]]
  /// The documents in limbo that the server is asked for.
  package var activeLimbo: [DocumentPath: TargetID]
  /// Those that wait for that.
  package var waitingLimbo: [DocumentPath]
  /// How many writes were sent and not answered.
  package var outstandingWrites: Int
  /// Whether the server can be reached.
  package var onlineState: OnlineState
  /// The identity whose lane is shown; nil for nobody's.
  package var user: String?
  /// When storage that failed is tried again, on the clock's scale; nil when nothing waits for that.
  package var retry: Int64?
}

// For tests, the demo and the tool.
extension FirestoreEngine {
  /// Returns once every step that was asked for before, and all that these caused within the engine (commits, reads, calls
  /// to the app), is done.
  package func waitUntilIdle() async {
    var last: Int?
    while true {
      let count = await withCheckedContinuation { continuation in
        run { loop in loop.waitUntilIdle { continuation.resume(returning: $0) } }
      }
      // No other step came between the two questions.
      if let last, count == last + 1 { return }
      last = count
    }
  }

  /// The state of the engine once it has nothing to do.
  package func inspect() async -> EngineInspection {
    await waitUntilIdle()
    return await ask { $0.inspection }
  }

  /// Evicts now until the cache takes at most so many bytes, whatever its budget; with 0 all that nothing protects.
  ///
  /// - Throws: what the storage says; why it is not open; `unimplemented` when it evicts nothing.
  package func collectGarbage(downTo bytes: Int) async throws(FirestoreError) {
    let evicting = try await ask { loop in
      Result { () throws(FirestoreError) in try loop.store.evicting() }
    }.get()
    do throws(StoreError) {
      _ = try await evicting.evict(to: bytes, dryRun: false)
    } catch {
      throw FirestoreError(error, "The cache was not made smaller")
    }
  }

  /// The indexes that are declared.
  ///
  /// - Throws: what the storage says.
  package func indexes() async throws(FirestoreError) -> [DocumentIndex] {
    try await ask { $0.indexes }.get()
  }

  /// The number that a listener's target has; nil for a listener of the cache, or one that ended.
  package func target(of listener: ListenerID) async -> TargetID? {
    await ask { $0.listening.listens.target(of: listener) }
  }

  /// The next attempts to open streams come at once.
  package func skipBackoff() async { await ask { $0.skipBackoff() } }
}

extension DocumentLoop {
  fileprivate var inspection: EngineInspection {
    let listens = listening.listens
    return EngineInspection(
      targets: listens.targets, queries: listens.queriesByTarget, activeLimbo: listens.activeLimbo,
      waitingLimbo: listens.waitingLimbo, outstandingWrites: sending.outstanding,
      onlineState: listens.onlineState,
      user: store.lane.flatMap { $0.identity.isEmpty ? nil : $0.identity },
      retry: [recovery.retry, pinned.deadline].compactMap { $0 }.min())
  }

  fileprivate var indexes: Result<[DocumentIndex], FirestoreError> {
    Result { () throws(StoreError) in
      try store.read { (view, lane) throws(StoreError) in
        try view.documentIndexes(lane.tree).map(\.index)
      }
    }.mapError { FirestoreError($0) }
  }
}
