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
      // A mail that is removed frees no more than its write takes.
      configuration.options.compression = .none
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
    func `What finds no room keeps what its sender wrote later`(_ store: Store) async throws {
      let session = try IOSession.fail(directory, at: nil, with: .error(ENOSPC))
      defer { session.end() }
      let database = Database(configuration(store))
      try await database.takeMail()
      let (one, other) = (
        CompanionDatabase(configuration(store)), CompanionDatabase(configuration(store))
      )
      var random = SeededRandom(seed: 1)
      let large = (0..<60_000).map { _ in String(random.next(), radix: 36) }.joined()
      var sent: [String] = []
      // A log has room ahead of its end.
      for number in 0..<(store == .log ? 64 : 4) {
        sent.append("/one/large\(number)")
        try one.setValue(large + "\(number)", at: "one/large\(number)", as: "")
      }
      sent.append("/one/small")
      try one.setValue(1, at: "one/small", as: "")
      try other.setValue(2, at: "other", as: "")
      session.setFull(true)
      await #expect(throws: DatabaseError.self) { try await database.takeMail() }
      let queued = try await paths(database)
      let own = queued.filter { $0.hasPrefix("/one") }
      #expect(own.count < sent.count && own == Array(sent.prefix(own.count)), "\(queued)")
      // Its segment has room for a small write.
      if store == .log { #expect(queued.contains("/other")) }
      session.setFull(false)
      try await database.takeMail()
      let all = try await paths(database)
      #expect(all.filter { $0.hasPrefix("/one") } == sent)
      #expect(all.count == sent.count + 1)
      #expect(mails().isEmpty)
      await database.close()
    }

    /// What a commit has written first, its pages or frames, is synced; the mark of syncs behind it need not be.
    private func requireSynced(_ entries: ArraySlice<IOEntry>) throws {
      var unsynced: Set<Int> = []
      var first: Int?
      for entry in entries {
        switch entry {
        case .write(let file, _, _, let isDurable):
          first = first ?? file
          if !isDurable { unsynced.insert(file) }
        case .sync(let file): unsynced.remove(file)
        default: break
        }
      }
      #expect(
        !unsynced.contains(try #require(first, "nothing is written")),
        "\(entries.map(\.description))")
    }

    @Test(arguments: [Store.sqlite, .lmdb, .log])
    func `What is set aside gets its other name when its report is durable, also one of before`(
      _ store: Store
    ) async throws {
      let session = try IOSession.record(directory)
      defer { session.end() }
      let database = Database(configuration(store))
      try await database.takeMail()
      let name = "0000000000000001-0000000000000007.mail"
      for isReported in [false, true] {
        let path = directory + "/store.mail/" + name
        _ = try Directory.make(directory + "/store.mail")
        Scratch.write([1], path)
        let before = session.entries().count
        #expect(try await database.takeMail().setAside == 1)
        let entries = Array(session.entries()[before...])
        let renamed = try index(entries) {
          if case .rename(_, let new) = $0 { new.hasSuffix(".damaged") } else { false }
        }
        try requireSynced(entries[..<renamed])
        #expect(
          try await database.incidents(needingCare: true).incidents.count == 1, "\(isReported)")
        Directory.remove(path + ".damaged")
      }
      await database.close()
    }

    @Test func `A mailbox that another process has just made is durable before a call returns`()
      throws
    {
      _ = try Directory.make(directory + "/store.mail")
      let companion = CompanionDatabase(configuration(.sqlite))
      for round in 0..<2 {
        let session = try IOSession.record(directory)
        defer { session.end() }
        try companion.setValue(round, at: "n", as: "")
        let entries = session.entries()
        let isSynced = entries.contains {
          if case .syncDirectory(let path) = $0 { path.isEmpty || path == "." } else { false }
        }
        // Once is enough.
        #expect(isSynced == (round == 0), "\(entries.map(\.description))")
      }
    }

    @Test(arguments: [Store.sqlite, .lmdb, .log])
    func
      `A purge gives up the queue and what was left, or neither, whatever cannot be read or removed`(
        _ store: Store
      ) async throws
    {
      let companion = CompanionDatabase(configuration(store))
      var database = Database(configuration(store))
      try await database.takeMail()
      var gone = 0
      for operation in 0..<30 {
        _ = try await database.reference(withPath: "queued").setValue(operation).id
        for number in 0..<3 { try companion.setValue(number, at: "left/n\(number)", as: "") }
        // Opened within the session, so that it is watched.
        await database.close()
        let session = try IOSession.fail(
          directory, at: nil, with: .error(EMFILE), counting: .changesAndReads)
        defer { session.end() }
        database = Database(configuration(store))
        try await database.takeMail()
        for number in 3..<6 { try companion.setValue(number, at: "left/n\(number)", as: "") }
        session.fail(at: session.operationCount + operation, with: .error(EMFILE))
        database.purgeOutstandingWrites()
        _ = try? await database.pendingWriteTotals()
        session.stopFailing()
        // The store itself may have failed.
        await database.close()
        database = Database(configuration(store))
        try await database.takeMail()
        let left = try await paths(database).count
        #expect(left == 0 || left == 7, "\(operation): \(session.failure ?? "nothing"), \(left)")
        if left == 0 { gone += 1 }
        #expect(mails() == [], "\(operation): \(session.failure ?? "nothing")")
        if left > 0 {
          database.purgeOutstandingWrites()
          #expect(try await paths(database) == [])
        }
      }
      #expect(gone > 0)
      await database.close()
    }

    @Test func `What cannot be read or removed keeps nothing else, and is told`() async throws {
      let database = Database(configuration(.sqlite))
      try await database.takeMail()
      let companion = CompanionDatabase(configuration(.sqlite))
      var told = 0
      for operation in 0..<16 {
        for number in 0..<3 { try companion.setValue(number, at: "n\(number)", as: "ann") }
        let session = try IOSession.fail(
          directory, at: operation, with: .error(EIO), counting: .changesAndReads)
        do throws(DatabaseError) {
          try await database.discardMail(of: "ann")
          #expect(mails() == [], "\(operation): \(session.failure ?? "nothing")")
        } catch {
          told += 1
          #expect(error.code == .storageFailure)
          // But where the directory itself could not be listed or synced.
          if mails().count == 1 { #expect(error.message.contains("1 of the files")) }
          #expect([0, 1, 3].contains(mails().count), "\(session.failure ?? "nothing")")
        }
        session.end()
        try await database.discardMail(of: "ann")
        #expect(mails() == [])
      }
      #expect(told > 3)
      await database.close()
    }

    /// Where in a record of operations something is, behind a place.
    private func index(
      _ entries: [IOEntry], after start: Int = -1, where isMeant: (IOEntry) -> Bool
    ) throws -> Int {
      try #require(
        entries.indices.first { $0 > start && isMeant(entries[$0]) },
        "\(entries.map(\.description))")
    }

    @Test func `A mail is synced before it has its name, and the name before the call returns`()
      throws
    {
      let session = try IOSession.record(directory)
      defer { session.end() }
      try CompanionDatabase(configuration(.sqlite)).setValue(1, at: "n", as: "")
      let name = try #require(mails().first)
      let entries = session.entries()
      let draft = "store.mail/\(name).new"
      let made = try index(entries) {
        if case .create(_, draft) = $0 { true } else { false }
      }
      guard case .create(let file, _) = entries[made] else { return }
      let written = try index(entries, after: made) {
        if case .write(file, _, _, _) = $0 { true } else { false }
      }
      let synced = try index(entries, after: written) {
        if case .sync(file) = $0 { true } else { false }
      }
      let named = try index(entries, after: synced) {
        if case .rename(draft, "store.mail/\(name)") = $0 { true } else { false }
      }
      _ = try index(entries, after: named) {
        if case .syncDirectory("store.mail") = $0 { true } else { false }
      }
      let early = entries[..<synced].contains {
        if case .rename = $0 { true } else { false }
      }
      #expect(!early)
      #expect(
        !entries[synced...].contains {
          if case .write(file, _, _, _) = $0 { true } else { false }
        })
    }

    @Test(arguments: [Store.sqlite, .lmdb, .log])
    func `A mail goes when its write is durable, and its name when it is gone for good`(
      _ store: Store
    ) async throws {
      let session = try IOSession.record(directory)
      defer { session.end() }
      let database = Database(configuration(store))
      try await database.takeMail()
      try CompanionDatabase(configuration(store)).setValue(1, at: "n", as: "")
      let before = session.entries().count
      try await database.takeMail()
      let entries = Array(session.entries()[before...])
      let gone = try index(entries) {
        if case .unlink(let path) = $0 { path.hasSuffix(".mail") } else { false }
      }
      try requireSynced(entries[..<gone])
      let forgotten = try index(entries, after: gone) {
        if case .write = $0 { true } else { false }
      }
      let isSynced = entries[gone..<forgotten].contains {
        if case .syncDirectory("store.mail") = $0 { true } else { false }
      }
      #expect(isSynced, "\(entries.map(\.description))")
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
