import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import Synchronization

/// The two trees of a database, which its first commit creates, so that reads take no room in the
/// store.
final class DatabaseTrees: Sendable {
  struct Pair: Sendable, Equatable {
    let documents: TreeID
    /// What the server remembers.
    let memory: TreeID
  }

  /// Whether the store has the trees.
  enum State: Sendable, Equatable {
    case absent
    case present(Pair)
    /// A commit that removes the trees is under way or was made. The database is then empty as of a
    /// time.
    case leaving(Pair, Timestamp)
  }

  private let found: Mutex<State>
  private let most: Int

  private init(_ pair: Pair?, most: Int) {
    found = Mutex(pair.map { .present($0) } ?? .absent)
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

  /// Whether the store has the trees.
  var state: State { found.withLock { $0 } }

  /// The trees; nil when the store does not have the database.
  var pair: Pair? {
    switch state {
    case .present(let pair), .leaving(let pair, _): pair
    case .absent: nil
    }
  }

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
    found.withLock { $0 = .present(pair) }
    return pair
  }

  /// Marks the trees as being removed.
  ///
  /// - Parameter time: as of when the database is empty.
  /// - Returns: the trees; nil when there are none.
  func markRemoving(_ time: Timestamp) -> Pair? {
    found.withLock { found in
      guard case .present(let pair) = found else { return nil }
      found = .leaving(pair, time)
      return pair
    }
  }

  /// Marks the trees as present again, after their removal failed.
  func markPresent(_ pair: Pair) { found.withLock { $0 = .present(pair) } }

  private static func make(
    _ database: DatabaseID, in backend: any DocumentBackend
  ) async throws(StoreError) -> Pair {
    Pair(
      documents: try await backend.tree(named: "\(database)", order: .documents),
      memory: try await backend.tree(named: "\(database)/changes", order: .documents))
  }
}
