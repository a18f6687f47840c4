import ConiferKit
import ConiferStorage
import Foundation
import Logging
import TestSupport
import Testing

/// What takes a URL as text takes Foundation's, too.
@Suite struct `URLs` {
  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  @Test func `of a database are those of its text`() throws {
    let configuration = try DatabaseConfiguration(
      url: url("http://localhost:9000/?ns=my-app"))
    #expect(configuration.namespace == "my-app" && configuration.host == "localhost:9000")
    #expect(!configuration.isSecure)
    let base = try url("https://app.example.com")
    let relative = try #require(URL(string: "rooms/r%201", relativeTo: base))
    let database = Database(try DatabaseConfiguration(url: base))
    let place = database.reference(fromURL: relative)
    #expect(place.url == "https://app.example.com/rooms/r%201")
    #expect(place.key == "r 1")
    #expect(throws: DatabaseError.self) { try DatabaseConfiguration(url: URL(filePath: "/a")) }
    let other = Database.database(url: try url("https://urls-of-tests.example.com"))
    #expect(other === Database.database(url: "https://urls-of-tests.example.com"))
    #expect(other.description == "https://urls-of-tests.example.com")
  }

  @Test func `of a directory are its path`() async throws {
    let scratch = try Scratch()
    let directory = URL(filePath: scratch.path, directoryHint: .isDirectory)
      .appending(path: "a b/ö%20", directoryHint: .isDirectory)
    let storage = StorageConfiguration.sqlite(at: directory)
    let location = try #require(storage.location)
    #expect(location.hasSuffix("/a b/ö%20/") && !location.contains("file:"))
    var configuration = DatabaseConfiguration(storage: storage)
    configuration.logger.logLevel = .critical
    let first = Database(configuration)
    _ = try await first.reference(withPath: "a").enqueue(.set(1)).durable
    await first.close()
    configuration.storage = .sqlite(at: location)
    let second = Database(configuration)
    #expect(try await second.pendingWriteTotals().pending == 1)
    await second.close()
  }

  @Test(arguments: [
    "https://example.com/a", "relative", "file://server/share", "file:///a%00b", "lmdb:///a",
  ])
  func `of no directory here fail to open, and say what to do`(text: String) async throws {
    let storage = StorageConfiguration.sqlite(at: try url(text))
    #expect(storage.location == nil)
    var configuration = DatabaseConfiguration(storage: storage)
    configuration.logger.logLevel = .critical
    let database = Database(configuration)
    do throws(DatabaseError) {
      _ = try await database.space()
      Issue.record("It was opened.")
    } catch {
      #expect(error.code == .storageFailure)
      #expect(error.message.contains("URL(filePath:"), "\(error)")
    }
    await database.close()
  }
}
