import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import Synchronization

/// The two trees of a database, which its first commit makes: whoever only asks takes no room in the store.
final class DatabaseTrees: Sendable {
  struct Pair: Sendable, Equatable {
    let documents: TreeID
    /// What the server remembers.
    let memory: TreeID
  }

  private let found: Mutex<Pair?>
  private let most: Int

  private init(_ pair: Pair?, most: Int) {
    found = Mutex(pair)
    self.most = most
  }

  /// The trees that the store has of a database.
  ///
  /// - Parameter most: how many databases the store may have for one more to be made.
  static func find(
    _ database: DatabaseID, in backend: any DocumentBackend, most: Int
  ) async throws(StoreError) -> DatabaseTrees {
    let name = "\(database)"
    let isThere = try backend.readDocuments { (view) throws(StoreError) in
      try view.trees().contains { $0.name.utf8.elementsEqual(name.utf8) }
    }
    return DatabaseTrees(isThere ? try await make(database, in: backend) : nil, most: most)
  }

  /// The trees; nil when the store does not have the database.
  var pair: Pair? { found.withLock { $0 } }

  /// The trees, made when there are none.
  ///
  /// - Throws: `full` when the store has too many databases.
  func made(
    for database: DatabaseID, in backend: any DocumentBackend
  ) async throws(StoreError) -> Pair {
    if let pair { return pair }
    let count = try backend.readDocuments { (view) throws(StoreError) in
      try view.trees().count { $0.order == .documents }
    }
    guard count < 2 * most else {
      throw StoreError(
        .full, "The server has \(most) databases, which is the most. Remove one, or use another.")
    }
    let pair = try await Self.make(database, in: backend)
    found.withLock { $0 = pair }
    return pair
  }

  /// Takes the trees away, before they are removed.
  func take() -> Pair? {
    found.withLock { found in
      defer { found = nil }
      return found
    }
  }

  /// Puts trees back that were not removed.
  func restore(_ pair: Pair) { found.withLock { $0 = pair } }

  private static func make(
    _ database: DatabaseID, in backend: any DocumentBackend
  ) async throws(StoreError) -> Pair {
    Pair(
      documents: try await backend.tree(named: "\(database)", order: .documents),
      memory: try await backend.tree(named: "\(database)/changes", order: .documents))
  }
}
