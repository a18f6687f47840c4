package import ConiferDocument
import ConiferEngine
import ConiferKeyValue
package import ConiferStorage

extension FirestoreEngine {
  /// Protects what a query gives from eviction and keeps it up to date; or ends that.
  package func keepSynced(_ isKept: Bool, _ query: DocumentQuery) {
    run { $0.pinned.set(isKept, query) }
  }

  /// Declares exactly these indexes.
  package func setIndexes(
    _ indexes: [DocumentIndex], _ completion: @escaping @Sendable (FirestoreError?) -> Void
  ) {
    let completion = untilEnd(completion)
    run { loop in
      let failure = loop.declare(indexes)
      loop.outbox.addCall { completion(failure) }
    }
  }

  /// Whether an index is declared when a query shows that one would help.
  package func setCreatesIndexes(_ creates: Bool) {
    run { $0.listening.setCreatesIndexes(creates) }
  }

  /// Takes in the bytes of a bundle, and tells how far that has come.
  package func loadBundle(
    _ bytes: [UInt8],
    _ completion: @escaping @Sendable (Result<BundleProgress, FirestoreError>) -> Void
  ) {
    let completion = untilEnd(completion)
    run { $0.bundles.load(bytes, completion) }
  }

  /// The query that a bundle brought under a name; nil for an unknown name.
  package func namedQuery(
    _ name: String,
    _ completion: @escaping @Sendable (Result<DocumentQuery?, FirestoreError>) -> Void
  ) {
    let completion = untilEnd(completion)
    run { loop in
      let result = Result { () throws(FirestoreError) in try loop.bundles.namedQuery(name) }
      loop.outbox.addCall { completion(result) }
    }
  }
}

extension DocumentLoop {
  /// Declares exactly these indexes; gives why not.
  fileprivate func declare(_ indexes: [DocumentIndex]) -> FirestoreError? {
    guard store.lane != nil else { return store.error }
    do throws(StoreError) {
      try store.declare(.setIndexes(indexes))
      return nil
    } catch {
      return FirestoreError(error, "The indexes were not declared")
    }
  }
}
