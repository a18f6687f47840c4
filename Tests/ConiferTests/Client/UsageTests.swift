import ConiferEngine
import ConiferKeyValue
import ConiferServer
import ConiferStorage
import ConiferTree
import Dispatch
import Logging
import TestSupport
import Testing

@testable import Conifer

/// What an app is told when its queue or its cache passes a limit.
@Suite struct `Limits of usage` {
  private let server = Server()

  private func database(
    _ store: Store, _ scratch: Scratch, _ change: (inout DatabaseConfiguration) -> Void = { _ in }
  ) -> Database {
    var configuration = DatabaseConfiguration(
      namespace: "test", storage: store.configuration(at: scratch.path + "/store"),
      transport: server.transport())
    configuration.logger.logLevel = .critical
    change(&configuration)
    return Database(configuration)
  }

  /// The changes that are told, one after the other.
  private final class Told {
    let observation: UsageObservation
    private var changes: AsyncStream<UsageChange>.Iterator

    init(_ database: Database, _ limits: UsageLimits) {
      let (stream, changes) = AsyncStream<UsageChange>.makeStream()
      observation = database.observeUsage(limits) { changes.yield($0) }
      self.changes = stream.makeAsyncIterator()
    }

    func next() async -> UsageChange? { await changes.next(isolation: nil) }
  }

  private func write(_ database: Database, _ numbers: Range<Int>) async throws -> [WriteReceipt] {
    var receipts: [WriteReceipt] = []
    for number in numbers {
      let receipt = database.reference(withPath: "k\(number)").enqueue(.set(number))
      _ = try await receipt.durable
      receipts.append(receipt)
    }
    return receipts
  }

  @Test(arguments: Store.allCases)
  func `of waiting writes are told once when passed, and once when kept again`(
    store: Store
  ) async throws {
    let scratch = try Scratch()
    let database = database(store, scratch)
    database.goOffline()
    let told = Told(database, UsageLimits(pendingWrites: 10))
    let bytes = Told(database, UsageLimits(pendingWrites: 1_000, queueBytes: 1))
    var receipts = try await write(database, 0..<1)
    #expect(await bytes.next()?.measure == .queueBytes)
    receipts += try await write(database, 1..<14)
    let over = try #require(await told.next())
    #expect(over.measure == .pendingWrites && over.limit == 10 && over.isOver && over.value == 11)
    // At the limit it is not under it yet.
    for receipt in receipts.prefix(5) { try await database.discard(try #require(await receipt.id)) }
    let under = try #require(await told.next())
    #expect(under == UsageChange(measure: .pendingWrites, limit: 10, value: 9, isOver: false))
    _ = try await write(database, 20..<22)
    #expect(await told.next()?.value == 11)
    database.goOnline()
    let sent = try #require(await told.next())
    #expect(!sent.isOver && sent.value <= 9)
    let empty = try #require(await bytes.next())
    #expect(empty == UsageChange(measure: .queueBytes, limit: 1, value: empty.value, isOver: false))
    await database.close()
  }

  @Test(arguments: Store.durable)
  func `are told at opening where they are passed already`(store: Store) async throws {
    let scratch = try Scratch()
    let first = database(store, scratch) { $0.transport = nil }
    _ = try await write(first, 0..<5)
    await first.close()
    let database = database(store, scratch) { $0.transport = nil }
    let told = Told(
      database, UsageLimits(pendingWrites: 4, queueBytes: 1 << 20, cacheBytes: 1 << 30))
    #expect(
      await told.next()
        == UsageChange(measure: .pendingWrites, limit: 4, value: 5, isOver: true))
    await database.close()
  }

  /// Evictions are no steps of the database.
  @Test(arguments: Store.allCases)
  func `of the cache are told as it grows, and when it was evicted`(store: Store) async throws {
    let scratch = try Scratch()
    let database = database(store, scratch) { $0.options.compression = .none }
    let text = Node(.string(String(repeating: "text ", count: 40_000)))
    server.set(.root, ["rooms": ["r0": text, "r1": text, "r2": text]], in: "test")
    let empty = try await database.space().cache
    let limit = empty + 300_000
    let told = Told(database, UsageLimits(cacheBytes: limit))
    for room in ["r0", "r1", "r2"] {
      _ = try await database.reference(withPath: "rooms/\(room)").observeSingleEvent(of: .value)
    }
    let over = try #require(await told.next())
    #expect(over.measure == .cacheBytes && over.limit == limit && over.isOver && over.value > limit)
    _ = try await database.evict(to: 0)
    let under = try #require(await told.next())
    #expect(!under.isOver && under.value <= limit - limit / 10)
    await database.close()
  }

  @Test(arguments: Store.allCases)
  func `are looked at when the storage has evicted`(store: Store) async throws {
    let scratch = try Scratch()
    let backend = try store.configuration(at: scratch.path + "/store").open()
    let telling = try #require(backend as? any TellsEvictions)
    let tree = try await backend.tree(named: "test")
    let ends = Gathered<Bool>()
    telling.observeEvictions { ends.add(true) }
    _ = try await backend.commit([.overwrite(tree, "a", Node(.string("text")))], .relaxed)
    #expect(ends.all.isEmpty)
    _ = try await backend.evicting().evict(to: 0, dryRun: true)
    #expect(ends.all.isEmpty)
    _ = try await backend.evicting().evict(to: 0, dryRun: false)
    #expect(ends.all == [true])
    telling.observeEvictions(nil)
    _ = try await backend.evicting().evict(to: 0, dryRun: false)
    #expect(ends.all == [true])
    try await backend.close()
  }

  @Test func `are told no longer once that was removed, and what is below 0 counts as 0`()
    async throws
  {
    let scratch = try Scratch()
    let queue = DispatchQueue(label: "test")
    let database = database(.memory, scratch) { $0.callbackQueue = .queue(queue) }
    database.goOffline()
    let all = Gathered<UsageChange>()
    let removed = database.observeUsage(UsageLimits(pendingWrites: 0)) { all.add($0) }
    queue.sync { removed.remove() }
    let told = Told(database, UsageLimits(pendingWrites: -5))
    _ = try await write(database, 0..<1)
    #expect(
      await told.next() == UsageChange(measure: .pendingWrites, limit: 0, value: 1, isOver: true))
    #expect(all.all.isEmpty)
    removed.remove()
    told.observation.remove()
    await database.close()
  }

  @Test func `are measured for nobody where nobody observes`() {
    let storage = EngineStorage(Logger(label: "test"))
    let watch = UsageWatch(storage, Outbox(storage, .standard), postLook: {})
    var looks = 0
    let look = {
      watch.look { () -> Result<PendingWriteTotals, DatabaseError> in
        looks += 1
        return .success(PendingWriteTotals())
      }
    }
    look()
    #expect(looks == 0)
    let observation = UsageObservation {}
    watch.begin(observation, UsageLimits(cacheBytes: 1)) { _ in }
    look()
    #expect(looks == 0)
    watch.begin(observation, UsageLimits(pendingWrites: 1)) { _ in }
    look()
    #expect(looks == 1)
    observation.remove()
    watch.removeEnded()
    look()
    #expect(looks == 1)
  }
}
