#if os(Linux)
  import ConiferKeyValue
  import ConiferStorage
  import ConiferTree
  import Foundation
  import Logging
  import TestSupport
  import Testing

  @testable import Conifer
  @testable import StorageConformance

  /// Processes that leave writes for an app, and the app that takes them, are killed at any file operation: each
  /// write is queued exactly once, in the order of its sender.
  @Suite(.enabled(if: IOSession.isAvailable)) struct MailKillTests {
    /// A store with its mailbox, and what is known of the mails beside it.
    struct Place: Codable, Sendable {
      let store: String
      let directory: String

      var files: String { directory + "/files" }
      var acknowledged: String { directory + "/acknowledged" }

      var configuration: DatabaseConfiguration {
        var configuration = DatabaseConfiguration(
          namespace: "app",
          storage: (Store(rawValue: store) ?? .log).configuration(at: files + "/store"))
        configuration.logger.logLevel = .critical
        return configuration
      }

      /// Leaves writes, notes those whose calls returned, and dies at an operation, or behind all.
      func send(_ sender: Int, at operation: Int?) throws -> Never {
        let session = try operation.map { try IOSession.fail(files, at: $0, with: .kill) }
        let companion = CompanionDatabase(configuration)
        for number in 0..<6 {
          do throws(DatabaseError) {
            try companion.setValue(number, at: "s\(sender)/n\(number)", as: "")
          } catch {
            // Beside a store whose owner died while it made it nothing can be left: it may be encrypted.
            System.killSelf()
          }
          try System.append("s\(sender)/n\(number)", to: acknowledged)
        }
        session?.end()
        System.killSelf()
      }

      /// Takes writes as the app, and dies at an operation, or behind all.
      func take(at operation: Int?, endsAt last: String? = nil) async throws -> Never {
        let session = try operation.map { try IOSession.fail(files, at: $0, with: .kill) }
        let database = Database(configuration)
        repeat { try await database.takeMail() } while last.map { access($0, F_OK) != 0 } ?? false
        await database.close()
        session?.end()
        System.killSelf()
      }
    }

    /// Queues a write, has others left, and purges; dies so many operations later, or behind all.
    private static func purge(_ place: Place, at operation: Int) async throws -> Never {
      let session = try IOSession.fail(place.files, at: nil, with: .kill)
      let database = Database(place.configuration)
      _ = try await database.reference(withPath: "queued").setValue(1).id
      try await database.takeMail()
      let companion = CompanionDatabase(place.configuration)
      for number in 0..<3 { try companion.setValue(number, at: "s/n\(number)", as: "") }
      session.fail(at: session.operationCount + operation, with: .kill)
      database.purgeOutstandingWrites()
      _ = try await database.pendingWriteTotals()
      System.killSelf()
    }

    @Test(arguments: [Store.sqlite, .lmdb, .log])
    func `What is killed within a purge has given up all or nothing`(_ store: Store) async throws {
      for operation in 0..<14 {
        let place = try await make(store)
        defer { System.removeTree(place.directory) }
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [place = place as Place, operation = operation as Int] in
          try await Self.purge(place, at: operation)
        }
        let database = Database(place.configuration)
        try await database.takeMail()
        let queued = try await database.pendingWrites(limit: 10).map { "\($0.path)" }
        #expect(
          queued == [] || queued == ["/queued", "/s/n0", "/s/n1", "/s/n2"],
          "operation \(operation)")
        #expect(Scratch.names(place.files + "/store.mail") == [])
        await database.close()
      }
    }

    private static var seed: UInt64 {
      System.variable("CONIFER_SEED").flatMap { UInt64($0) } ?? .random(in: 0...(.max >> 1))
    }

    private func make(_ store: Store) async throws -> Place {
      let place = Place(store: store.rawValue, directory: try System.makeTemporaryDirectory())
      try System.makeDirectory(place.files)
      return place
    }

    /// Takes what is left, and compares the queue with what was left.
    private func check(_ place: Place, senders: Int, _ seed: UInt64) async throws {
      let database = Database(place.configuration)
      try await database.takeMail()
      let queued = try await database.pendingWrites(limit: 10_000).map {
        String("\($0.path)".dropFirst())
      }
      let acknowledged = try System.lines(of: place.acknowledged).map(String.init)
      #expect(Set(queued).count == queued.count, "taken twice; seed \(seed): \(queued)")
      #expect(Set(acknowledged).subtracting(queued).isEmpty, "lost; seed \(seed)")
      for sender in 0..<senders {
        let own = queued.filter { $0.hasPrefix("s\(sender)/") }
        #expect(own == own.indices.map { "s\(sender)/n\($0)" }, "seed \(seed)")
      }
      let mailbox = place.files + "/store.mail"
      #expect(Scratch.names(mailbox).filter { $0.hasSuffix(".mail") }.isEmpty)
      #expect(try await database.verify().isSound)
      await database.close()
    }

    @Test(arguments: [Store.sqlite, .lmdb, .log])
    func `Both are killed at random operations, in turn`(_ store: Store) async throws {
      let place = try await make(store)
      defer { System.removeTree(place.directory) }
      let seed = Self.seed
      print("\(store.rawValue): CONIFER_SEED=\(seed)")
      var random = SeededRandom(seed: seed)
      let rounds = 8
      for round in 0..<rounds {
        let (sent, taken) = (Int(random.next() % 40), Int(random.next() % 120))
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [place = place as Place, round = round as Int, sent = sent as Int] in
          try place.send(round, at: sent)
        }
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [place = place as Place, taken = taken as Int] in
          try await place.take(at: taken)
        }
      }
      try await check(place, senders: rounds, seed)
    }

    @Test(arguments: [Store.sqlite, .lmdb, .log])
    func `Writes are left while they are taken`(_ store: Store) async throws {
      let place = try await make(store)
      defer { System.removeTree(place.directory) }
      let done = place.directory + "/done"
      // A process that is waited for holds a thread of the tests', so the senders have one of their own.
      let beside = try System.Thread {
        defer { try? System.append("done", to: done) }
        let senders = (0..<3).map { _ in CompanionDatabase(place.configuration) }
        for number in 0..<60 {
          for (sender, companion) in senders.enumerated() {
            let path = "s\(sender)/n\(number)"
            try companion.setValue(number, at: path, as: "")
            try System.append(path, to: place.acknowledged)
          }
        }
      }
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [place = place as Place, done = done as String] in
        try await place.take(at: nil, endsAt: done)
      }
      if let error = beside.join() { throw error }
      try await check(place, senders: 3, 0)
    }
  }
#endif
