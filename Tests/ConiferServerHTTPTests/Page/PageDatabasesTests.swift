import ConiferDocument
import ConiferDocumentServer
import ConiferKeyValue
import Synchronization
import Testing

@testable import ConiferServerHTTP

/// The names of the databases that the page shows.
@Suite struct PageDatabasesTests {
  @Test("They are listed again when a database comes or goes, and not after other commits")
  func names() async throws {
    let server = try DocumentServer()
    let listings = Mutex(0)
    let databases = PageDatabases(server) { () throws(StoreError) in
      listings.withLock { $0 += 1 }
      return try server.databases()
    }
    func commit(_ database: String, _ id: Int) async throws {
      try await server.commit(
        [Mutation(try DocumentPath("rooms/\(id)"), .set([:], []))],
        in: DatabaseID(project: "p", database: database))
    }
    #expect(try databases.names() == [])
    try await commit("a", 0)
    #expect(try databases.names() == ["projects/p/databases/a"])
    let count = listings.withLock { $0 }
    let version = databases.version
    for n in 1...20 {
      try await commit("a", n)
      #expect(try databases.names().count == 1)
    }
    #expect(databases.version == version + 20)
    #expect(listings.withLock { $0 } == count)
    try await commit("b", 0)
    #expect(try databases.names() == ["projects/p/databases/a", "projects/p/databases/b"])
    try await server.close()
  }
}
