import ConiferDocument
import ConiferDocumentServer
import ConiferKeyValue
import Synchronization

/// The databases of documents that a page may show.
final class PageDatabases: Sendable {
  private let server: DocumentServer
  /// The names as they were after so many commits that made or removed databases.
  private let known = Mutex<(count: Int, names: [String])?>(nil)

  private let list: @Sendable () throws(StoreError) -> [DatabaseID]

  convenience init(_ server: DocumentServer) {
    self.init(server) { () throws(StoreError) in try server.databases() }
  }

  /// - Parameter list: the databases that the store has.
  init(
    _ server: DocumentServer, _ list: @escaping @Sendable () throws(StoreError) -> [DatabaseID]
  ) {
    self.server = server
    self.list = list
  }

  /// Whether a space of the page is one of these, and not a namespace: a namespace has no slash.
  static func isDatabase(_ space: String) -> Bool { space.hasPrefix("projects/") }

  /// Changes when something in a database does.
  var version: Int { server.commitCount }

  /// The names: `projects/P/databases/D`.
  ///
  /// - Throws: as the store's reads.
  func names() throws(StoreError) -> [String] {
    let count = server.databasesCount
    if let known = known.withLock({ $0 }), known.count == count { return known.names }
    let names = try list().map { "\($0)" }
    known.withLock { $0 = (count, names) }
    return names
  }
}
