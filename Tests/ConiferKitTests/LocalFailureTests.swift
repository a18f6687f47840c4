import ConiferKeyValue
import ConiferKit
import ConiferStorage
import ConiferTree
import Logging
import Synchronization
import TestSupport
import Testing

/// A database without a server when its disk fails, when its app is started again, and with what it cannot have.
@Suite(.timeLimit(.minutes(10))) struct `A database without a server, in trouble` {
  private let disk = FailingDisk()

  private func open(_ change: (inout DatabaseConfiguration) -> Void = { _ in }) -> Database {
    var configuration = DatabaseConfiguration.local(storage: disk.storage)
    configuration.logger.logLevel = .critical
    change(&configuration)
    return Database(configuration)
  }

  private func code(_ body: () async throws(DatabaseError) -> Void) async -> DatabaseError.Code? {
    do throws(DatabaseError) {
      try await body()
      return nil
    } catch { return error.code }
  }

  @Test func `a full disk refuses at once, and writes go on when it has room`() async throws {
    let database = open()
    let place = database.reference(withPath: "a")
    try await place.setValue(1)
    disk.set(.failing(.full))
    let receipts = (0..<300).map { (number: Int) in
      database.reference(withPath: "n/\(number)").enqueue(.set(number))
    }
    for receipt in receipts {
      #expect(
        await code { () throws(DatabaseError) in try await receipt.acknowledged() } == .unavailable)
    }
    #expect(try await place.getData().node == 1)
    disk.set(.sound)
    try await place.setValue(2)
    #expect(try await place.getData().node == 2)
    await database.close()
  }

  @Test func `after a commit in doubt nothing is acknowledged because memory has it already`()
    async throws
  {
    let database = open()
    let place = database.reference(withPath: "a")
    try await place.setValue(1)
    disk.set(.doubtful)
    func write(_ value: Int) async -> DatabaseError.Code? {
      await code { () throws(DatabaseError) in
        try await place.enqueue(.set(value)).acknowledged()
      }
    }
    #expect(await write(2) == .unavailable)
    disk.set(.failing(.poisoned))
    #expect(await write(1) == .unavailable)
    await database.close()
  }

  @Test func `the id of a write of an earlier run is not that of another one`() async throws {
    let scratch = try Scratch()
    func run() async throws -> (Database, WriteReceipt.ID) {
      let database = open { $0.storage = .sqlite(at: scratch.store) }
      let receipt = database.reference(withPath: "a").enqueue(.set(1))
      try await receipt.acknowledged()
      return (database, try #require(try await receipt.id))
    }
    let (first, old) = try await run()
    #expect(try await first.outcome(of: old) == .acknowledged)
    await first.close()
    let (second, new) = try await run()
    #expect(
      await code { () throws(DatabaseError) in
        _ = try await second.outcome(of: old)
      } == .unknownWrite)
    #expect(try await second.outcome(of: new) == .acknowledged)
    await second.close()
  }

  private struct NoToken: TokenProvider, AppCheckProvider {
    struct Unreachable: Error {}
    func token(forcingRefresh: Bool) async throws -> AuthToken? { throw Unreachable() }
    func token(forcingRefresh: Bool) async throws -> AppCheckToken { throw Unreachable() }
  }

  @Test(arguments: [true, false])
  func `a token provider is a mistake, which is put right`(_ isUsers: Bool) async throws {
    let database = open { configuration in
      if isUsers {
        configuration.tokenProvider = NoToken()
      } else {
        configuration.appCheckProvider = NoToken()
      }
      let mistaken = configuration
      #expect(throws: DatabaseError.self) { try mistaken.validate() }
    }
    let place = database.reference(withPath: "a")
    #expect(try await place.getData().node == .empty)
    try await place.setValue(1)
    #expect(try await place.getData().node == 1)
    await database.close()
  }

  @Test func `thousands of writes that wait are stored when it is closed`() async throws {
    let scratch = try Scratch()
    let database = open { $0.storage = .sqlite(at: scratch.store) }
    _ = try await database.reference().getData()
    for number in 0..<3_000 { database.reference(withPath: "n/\(number)").enqueue(.set(number)) }
    await database.close()
    let again = open { $0.storage = .sqlite(at: scratch.store) }
    #expect(try await again.reference(withPath: "n").getData().childrenCount == 3_000)
    await again.close()
  }
}
