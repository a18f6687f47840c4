package import ConiferDocument
package import ConiferEngine
import ConiferKeyValue
package import ConiferStorage

extension FirestoreEngine {
  /// What may be asked of the storage, once it is open.
  package func storage() async throws(DatabaseError) -> StorageQuestions {
    let found = await ask { loop in
      Result { () throws(DatabaseError) in try StorageQuestions(loop.store.engine) }
    }
    return try found.get()
  }

  /// Tells when the queue or the cache passes a limit.
  package func observeUsage(
    _ observation: UsageObservation, _ limits: UsageLimits,
    _ told: @escaping @Sendable (UsageChange) -> Void
  ) {
    let told = untilEnd(told)
    run { $0.usage.begin(observation, limits, told) }
  }

  /// An observation of usage was removed.
  package func usageObservationEnded() { run { $0.usage.removeEnded() } }

  /// The number under which the cache tracks a query.
  package func trackedQuery(_ query: DocumentQuery) async throws(FirestoreError) -> QueryID? {
    let found = await ask { loop in
      Result { () throws(StoreError) in try loop.listening.targets.find(query.target)?.id }
    }
    do throws(StoreError) {
      return try found.get()
    } catch {
      throw FirestoreError(error, "The query could not be found")
    }
  }
}
