import ConiferDocument
import ConiferDocumentServer
import ConiferKeyValue
import Synchronization

/// The databases of documents that a page may show.
final class PageDatabases: Sendable {
  private let server: DocumentServer
  /// The names as they were after so many commits.
  private let known = Mutex<(commits: Int, names: [String])?>(nil)

  init(_ server: DocumentServer) { self.server = server }

  /// Whether a space of the page is one of these, and not a namespace: a namespace has no slash.
  static func isDatabase(_ space: String) -> Bool { space.hasPrefix("projects/") }

  /// Changes when something in a database does.
  var version: Int { server.commitCount }

  /// The names: `projects/P/databases/D`.
  ///
  /// - Throws: as the store's reads.
  func names() throws(StoreError) -> [String] {
    let commits = server.commitCount
    if let known = known.withLock({ $0 }), known.commits == commits { return known.names }
    let names = try server.databases().map { "\($0)" }
    known.withLock { $0 = (commits, names) }
    return names
  }
}
