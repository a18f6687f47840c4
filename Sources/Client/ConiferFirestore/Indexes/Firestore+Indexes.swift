import ConiferKeyValue
import ConiferStorage
public import Foundation

// Indexes that answer queries of the cache.
extension Firestore {
  /// Declares exactly these indexes of the cache; they are built in the background.
  ///
  /// - Parameters:
  ///   - json: the indexes as the vendor's tool exports them (`firebase firestore:indexes`).
  ///   - completion: given nil once they are declared, or `invalidArgument` with the place that is wrong;
  ///     on the callback queue. Without it an error is logged.
  public func setIndexConfiguration(_ json: String, completion: (((any Error)?) -> Void)? = nil) {
    perform(completion.map { UserCode($0) }) { (engine, told) throws(FirestoreError) in
      engine.setIndexes(try Self.indexes(json), told)
    }
  }

  /// Declares exactly these indexes of the cache; they are built in the background.
  ///
  /// - Parameters:
  ///   - stream: where the text comes from that the vendor's tool exports; it is read at once.
  ///   - completion: given nil once they are declared, or why they are not; on the callback queue.
  public func setIndexConfiguration(
    _ stream: InputStream, completion: (((any Error)?) -> Void)? = nil
  ) {
    perform(completion.map { UserCode($0) }) { (engine, told) throws(FirestoreError) in
      engine.setIndexes(try Self.indexes(try Self.text(of: stream)), told)
    }
  }

  /// Declares exactly these indexes of the cache; returns once they are declared.
  ///
  /// - Parameter json: the indexes as the vendor's tool exports them (`firebase firestore:indexes`).
  /// - Throws: `invalidArgument` with the place that is wrong; what the storage does; `cancelled`.
  nonisolated(nonsending)
    public func setIndexConfiguration(_ json: String) async throws(FirestoreError)
  {
    let indexes = try Self.indexes(json)
    try await waitUntil { $0.setIndexes(indexes, $1) }
  }

  /// Declares exactly these indexes of the cache; returns once they are declared.
  ///
  /// - Parameter stream: where the text comes from that the vendor's tool exports.
  /// - Throws: `invalidArgument` with the place that is wrong; what the storage does; `cancelled`.
  nonisolated(nonsending)
    public func setIndexConfiguration(_ stream: InputStream) async throws(FirestoreError)
  { try await setIndexConfiguration(try Self.text(of: stream)) }

  /// The manager that declares indexes automatically when queries show that they would help; nil
  /// while the cache is in memory.
  public var persistentCacheIndexManager: PersistentCacheIndexManager? {
    begin()
    return configuration.isPersistenceEnabled ? PersistentCacheIndexManager(self) : nil
  }

  private static func indexes(_ json: String) throws(FirestoreError) -> [DocumentIndex] {
    do {
      return try IndexConfiguration(json: json).indexes
    } catch {
      throw FirestoreError(
        .invalidArgument,
        "The index configuration is invalid: \(error.message). Give the text that the vendor's "
          + "tool exports.", cause: error.description)
    }
  }

  private static func text(of stream: InputStream) throws(FirestoreError) -> String {
    let bytes = try bytes(of: stream)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw FirestoreError(
        .invalidArgument,
        "The index configuration is no UTF-8. Give the text that the tool exports.")
    }
    return text
  }
}

/// The switch for automatic indexes of the cache, which are declared where queries show that they
/// would help.
public final class PersistentCacheIndexManager: Sendable {
  private let firestore: Firestore

  init(_ firestore: Firestore) { self.firestore = firestore }

  /// From now on, an index is declared when a query reads many documents to find few; at first none is.
  public func enableIndexAutoCreation() { setCreates(true) }

  /// From now on, no index is declared by itself; those that there are stay.
  public func disableIndexAutoCreation() { setCreates(false) }

  /// Removes all indexes, declared ones too.
  public func deleteAllIndexes() {
    firestore.perform(nil) { $0.setIndexes([], $1) }
  }

  private func setCreates(_ creates: Bool) {
    do throws(FirestoreError) {
      try firestore.engine().setCreatesIndexes(creates)
    } catch {
      firestore.report(error)
    }
  }
}
