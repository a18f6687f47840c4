import Synchronization

/// Counts the commits to all databases of a server, so that a viewer knows when to read again.
final class CommitCount: Sendable {
  private let commits = Atomic(0)
  private let listings = Atomic(0)

  /// How many commits there were, those that may have failed included.
  var value: Int { commits.load(ordering: .relaxed) }

  /// How many commits there were that may have made or removed a database.
  var ofDatabases: Int { listings.load(ordering: .relaxed) }

  func add() { commits.add(1, ordering: .relaxed) }

  func addDatabase() { listings.add(1, ordering: .relaxed) }
}
