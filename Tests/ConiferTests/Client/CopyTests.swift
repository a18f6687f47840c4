import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Conifer

/// Data is copied from one database to another, as ordinary writes.
@Suite(.timeLimit(.minutes(10))) struct `Copying to another database` {
  let from = Server()
  let to = Server()

  func database(_ server: Server, _ transport: InProcessTransport? = nil) -> Database {
    var configuration = DatabaseConfiguration(
      namespace: "test", transport: transport ?? server.transport())
    configuration.logger.logLevel = .critical
    return Database(configuration)
  }

  /// Copies with two new databases.
  func copy(
    _ path: String = "", _ existing: Database.ExistingData = .keep,
    over transport: InProcessTransport? = nil,
    progress: (@Sendable (Database.CopyProgress) -> Void)? = nil
  ) async throws(DatabaseError) -> Database.CopyProgress {
    let (source, target) = (database(from), database(to, transport))
    let result: Result<Database.CopyProgress, DatabaseError>
    do throws(DatabaseError) {
      result = .success(
        try await source.copy(path, to: target, existing: existing, progress: progress))
    } catch { result = .failure(error) }
    await source.close()
    await target.close()
    return try result.get()
  }

  func code(_ body: () async throws(DatabaseError) -> Void) async -> DatabaseError.Code? {
    do throws(DatabaseError) {
      try await body()
      return nil
    } catch { return error.code }
  }

  var copied: Node { to.data(in: "test") }

  /// Maps in maps, a large list, and priorities of values, of maps and of a map that is larger than a slice.
  func sample() -> Node {
    let list = (0..<2_500).map { (Key("k\($0)"), Node(.integer(Int64($0)))) }
    let rooms: Node = [
      "r1": Node(children: [(Key("name"), Node("Attic", priority: 3))], priority: "first"),
      "r2": ["name": "Cellar", "-": ["deep": ["deeper": true]]],
    ]
    let lists = Node(children: [(Key("large"), Node(children: list, priority: 2))], priority: 1)
    return ["rooms": rooms, "lists": lists, "title": "House"]
  }

  @Test(arguments: [Database.ExistingData.keep, .replace])
  func `everything arrives, with priorities, in writes of a bounded size`(
    _ existing: Database.ExistingData
  ) async throws {
    from.set(.root, sample(), in: "test")
    let transport = to.transport()
    let sizes = Gathered<Int>()
    transport.watch { message in
      guard case .toServer(.request(_, .merge(_, let changes))) = message else { return }
      sizes.add(changes.count(where: { $0.path.last?.isPriority != true }))
    }
    let steps = Gathered<Int>()
    let result = try await copy("", existing, over: transport) { steps.add($0.copied) }
    #expect(copied == sample())
    #expect(result == Database.CopyProgress(total: 2_504, copied: 2_504, kept: 0))
    #expect(sizes.all.count >= 3)
    #expect(sizes.all.allSatisfy { $0 <= 1_000 })
    #expect(steps.all == steps.all.sorted() && steps.all.last == 2_504)
  }

  @Test func `a value that is larger than a slice goes alone`() async throws {
    let text = String(repeating: "x", count: 300_000)
    from.set(.root, ["a": 1, "b": Node(.string(text)), "c": 2], in: "test")
    _ = try await copy()
    #expect(copied == from.data(in: "test"))
  }

  @Test func `what the server has stays, unless the call says otherwise`() async throws {
    let mine: Node = [
      "users": ["ada": ["name": "Ada", "age": 36], "bob": ["name": "Bob"]],
      "a": ["b": ["c": 1]], "x": "mine", "deep": ["d": ["e": ["f": 1], "g": ["h": 2]]],
    ]
    let theirs: Node = [
      "users": ["ada": ["name": "Countess"], "eve": ["name": "Eve"]], "a": "a value",
      "x": ["y": "a map"], "deep": ["d": ["e": ["f": 9]]],
    ]
    from.set(.root, mine, in: "test")
    to.set(.root, theirs, in: "test")
    let kept = try await copy()
    #expect(
      copied == [
        "users": [
          "ada": ["name": "Countess", "age": 36], "bob": ["name": "Bob"], "eve": ["name": "Eve"],
        ],
        "a": "a value", "x": ["y": "a map"], "deep": ["d": ["e": ["f": 9], "g": ["h": 2]]],
      ])
    #expect(kept == Database.CopyProgress(total: 7, copied: 3, kept: 4))
    let before = copied
    #expect(try await copy().copied == 0)
    #expect(copied == before)

    _ = try await copy("", .replace)
    #expect(copied == mine.setting("users/eve/name" as Path, to: "Eve"))
  }

  @Test func `below a value of the server nothing is written`() async throws {
    from.set("a/b", ["c": ["d": ["e": 1]]], in: "test")
    to.set("a", "a value", in: "test")
    #expect(try await copy("a/b").kept == 1)
    #expect(copied == ["a": "a value"])
    to.set(.root, .empty, in: "test")
    #expect(try await copy("a/b").copied == 1)
    #expect(copied == from.data(in: "test"))
  }

  @Test func `priorities that the server lacks come, and its own stay`() async throws {
    func room(_ priority: Priority?, _ name: Node) -> Node {
      Node(children: [(Key("name"), name)], priority: priority)
    }
    from.set(.root, ["r1": room(1, "A"), "r2": room(2, "B")], in: "test")
    to.set(.root, ["r1": room(nil, "A"), "r2": room(9, "B")], in: "test")
    _ = try await copy("r1")
    _ = try await copy("r2")
    #expect(copied == ["r1": room(1, "A"), "r2": room(9, "B")])
  }

  @Test func `interrupted by a refusal, it is called again and goes on`() async throws {
    from.set(.root, sample(), in: "test")
    let transport = to.transport()
    let writes = Mutex(0)
    transport.intercept { request in
      guard request.isWrite else { return nil }
      let number = writes.withLock { count in
        count += 1
        return count
      }
      return number == 2 ? Response(.permissionDenied, reason: "not now") : nil
    }
    #expect(
      await code { () throws(DatabaseError) in
        _ = try await copy("", .keep, over: transport)
      } == .permissionDenied)
    #expect(copied != sample())
    #expect(!copied.isEmpty)
    let again = try await copy()
    #expect(copied == sample())
    #expect(again.copied > 0 && again.kept > 0 && again.copied + again.kept == 2_504)
  }

  @Test func `cancelled, it stops, and what is queued goes on`() async throws {
    from.set(.root, sample(), in: "test")
    let transport = to.transport()
    let (source, target) = (database(from), database(to, transport))
    #expect(try await target.reference().getData().node == .empty)
    transport.hold(.toServer)
    let task = Task { try await source.copy(to: target, existing: .replace) }
    try await eventually("nothing is queued") {
      try await target.pendingWriteTotals().pending > 0
    }
    task.cancel()
    await #expect(throws: (any Error).self) { try await task.value }
    let left = try await target.pendingWriteTotals().pending
    #expect(left > 0 && copied.isEmpty)
    transport.release()
    #expect(try await target.engine.drain(until: .infinity).pending == 0)
    #expect(!copied.isEmpty)
    let part = copied.leafCount
    let again = try await source.copy(to: target)
    #expect(copied == sample())
    #expect(again.kept == part && again.copied == 2_504 - part)
    await source.close()
    await target.close()
  }

  @Test func `rules that show only the children are asked there`() async throws {
    from.set(.root, ["users": ["ada": ["name": "Ada"], "bob": ["name": "Bob"]]], in: "test")
    to.set("users/ada/name", "Countess", in: "test")
    to.setRules(
      ClosureRules(
        read: { target, _ in target.path.count >= 2 }, write: { path, _, _ in path.count >= 2 }))
    #expect(try await copy().copied == 1)
    #expect(copied == ["users": ["ada": ["name": "Countess"], "bob": ["name": "Bob"]]])
    to.setRules(ClosureRules(read: { _, _ in false }))
    #expect(await code { () throws(DatabaseError) in _ = try await copy() } == .permissionDenied)
  }

  @Test func `the cache is not asked what the server has`() async throws {
    from.set(.root, ["a": ["b": 1]], in: "test")
    let (source, target) = (database(from), database(to))
    target.reference().keepSynced(true)
    #expect(try await target.reference().getData().node == .empty)
    target.goOffline()
    to.set("a/b", 2, in: "test")
    // The cache knows that nothing was there.
    #expect(
      await code { () throws(DatabaseError) in
        try await source.copy(to: target)
      } == .disconnected)
    #expect(try await target.pendingWriteTotals().pending == 0)
    await source.close()
    await target.close()
  }

  @Test func `nothing is copied of nothing, nor what is the client's own`() async throws {
    #expect(try await copy() == Database.CopyProgress(total: 0))
    #expect(
      await code { () throws(DatabaseError) in
        _ = try await copy(".info/connected")
      } == .readOnly)
  }
}
