#if os(Linux)
  import ConiferKeyValue
  import ConiferTree
  import Foundation
  import Logging
  import TestSupport
  import Testing

  @testable import Conifer
  @testable import ConiferStorage
  @testable import StorageConformance

  /// The disk is full or fails while a write is left or taken.
  @Suite(.enabled(if: IOSession.isAvailable)) final class MailFaultTests {
    private let directory: String

    init() throws { directory = try System.makeTemporaryDirectory() }

    deinit { System.removeTree(directory) }

    private func configuration(_ store: Store) -> DatabaseConfiguration {
      var configuration = DatabaseConfiguration(
        namespace: "app", storage: store.configuration(at: directory + "/store"))
      configuration.logger.logLevel = .critical
      return configuration
    }

    private func mails() -> [String] { Scratch.names(directory + "/store.mail") }

    private func paths(_ database: Database) async throws -> [String] {
      try await database.pendingWrites(limit: 1000).map { "\($0.path)" }
    }

    @Test(arguments: [ENOSPC, EIO])
    func `A sender is told, and leaves nothing`(_ number: Int32) async throws {
      let companion = CompanionDatabase(configuration(.sqlite))
      var left: [String] = []
      for operation in 0..<12 {
        let session = try IOSession.fail(directory, at: operation, with: .error(number))
        defer { session.end() }
        do throws(DatabaseError) {
          try companion.setValue(operation, at: "n\(operation)", as: "")
          left.append("/n\(operation)")
        } catch {
          #expect(error.code == (number == ENOSPC ? .storageFull : .storageFailure))
          #expect(session.failure != nil)
        }
        #expect(mails().count == left.count, "\(operation): \(session.failure ?? "")")
      }
      #expect(left.count < 12 && left.count > 3)
      let database = Database(configuration(.sqlite))
      try await database.takeMail()
      #expect(try await paths(database) == left)
      await database.close()
    }

    @Test(arguments: [Store.sqlite, .lmdb, .log])
    func `What an owner cannot take for a full disk stays, and is taken once`(
      _ store: Store
    ) async throws {
      let companion = CompanionDatabase(configuration(store))
      let database = Database(configuration(store))
      try await database.takeMail()
      var expected: [String] = []
      var failures = 0
      for operation in 0..<25 {
        for part in 0..<2 {
          try companion.setValue(part, at: "n\(operation)/\(part)", as: "")
          expected.append("/n\(operation)/\(part)")
        }
        let session = try IOSession.fail(directory, at: operation, with: .error(ENOSPC))
        do throws(DatabaseError) {
          try await database.takeMail()
        } catch {
          failures += 1
          #expect([.storageFull, .storageFailure].contains(error.code), "\(error)")
        }
        session.end()
        // A failed sync keeps the store from further commits.
        do throws(DatabaseError) {
          try await database.takeMail()
        } catch {
          try? await database.suspend()
          break
        }
        let queued = try await paths(database)
        #expect(queued == expected, "\(operation): \(session.failure ?? "")")
        #expect(mails().isEmpty)
      }
      #expect(failures > 0)
      await database.close()
      let again = Database(configuration(store))
      try await again.takeMail()
      #expect(try await paths(again) == expected)
      #expect(mails().isEmpty)
      await again.close()
    }
  }
#endif
