import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Logging
import TestSupport
import Testing

@testable import Conifer

/// What a copy asks the server, and what it must not rely on.
extension `Copying to another database` {
  @Test func `of a server that has much already, priorities of maps come too`() async throws {
    func node(_ children: [(String, Node)], _ priority: Priority?) -> Node {
      Node(children: children.map { (Key($0.0), $0.1) }, priority: priority)
    }
    let address = node([("city", "London"), ("street", "Dorset")], 3)
    let ada = node([("address", address), ("name", "Ada")], 2)
    from.set(.root, ["users": node([("ada", ada)], 1)], in: "test")
    to.set(
      .root, ["users": ["ada": ["address": ["city": "Paris"]], "eve": ["name": "Eve"]]], in: "test")
    let result = try await copy()
    #expect(result == Database.CopyProgress(total: 3, copied: 2, kept: 1))
    let merged = node([("city", "Paris"), ("street", "Dorset")], 3)
    #expect(
      copied == [
        "users": node(
          [("ada", node([("address", merged), ("name", "Ada")], 2)), ("eve", ["name": "Eve"])], 1)
      ])
  }

  @Test func `priorities that the server keeps stay where maps are deep`() async throws {
    let mine = Node(children: [(Key("c"), ["d": ["e": 1]] as Node)], priority: 1)
    let theirs = Node(children: [(Key("c"), ["d": ["f": 1]] as Node)], priority: 7)
    from.set("a", mine, in: "test")
    to.set("a", theirs, in: "test")
    _ = try await copy()
    #expect(
      copied == ["a": Node(children: [(Key("c"), ["d": ["e": 1, "f": 1]] as Node)], priority: 7)])
  }

  @Test func `thousands of priorities come in writes of a bounded size`() async throws {
    func rooms(_ priority: Priority?) -> Node {
      Node(
        children: (0..<2_500).map {
          (Key("r\($0)"), Node(children: [(Key("n"), 1 as Node)], priority: priority))
        })
    }
    from.set("rooms", rooms(4), in: "test")
    to.set("rooms", rooms(nil), in: "test")
    let transport = to.transport()
    let sizes = Gathered<Int>()
    transport.watch { message in
      guard case .toServer(.request(_, .merge(_, let changes))) = message else { return }
      sizes.add(changes.count)
    }
    #expect(try await copy(over: transport).copied == 0)
    #expect(copied == ["rooms": rooms(4)])
    #expect(sizes.all.allSatisfy { $0 <= 1_000 })
  }

  @Test
  func `places above are asked only when nothing is there, and no more than is needed is read`()
    async throws
  {
    from.set("users/ada", ["name": "Ada", "age": 36, "tags": ["x": true]], in: "test")
    from.set("users/ada/scores", ["k3": 1, "new": 2], in: "test")
    let scores = Node(children: (0..<5_000).map { (Key("k\($0)"), Node(.integer(Int64($0)))) })
    to.set("users/ada", ["name": "Countess", "scores": scores], in: "test")
    let transport = to.transport()
    let (asked, read) = (Gathered<Path>(), Gathered<Int>())
    transport.watch { message in
      switch message {
      case .toServer(.request(_, .get(let target))): asked.add(target.path)
      case .toClient(.response(_, let response)): read.add(response.node.leafCount)
      default: break
      }
    }
    let result = try await copy("users/ada", over: transport)
    #expect(result == Database.CopyProgress(total: 5, copied: 3, kept: 2))
    #expect(to.data("users/ada/scores/k3", in: "test") == 3)
    #expect(to.data("users/ada/scores", in: "test").childCount == 5_001)
    #expect(asked.all.allSatisfy { ("users/ada" as Path).contains($0) })
    #expect(read.all.allSatisfy { $0 <= 100 })
  }

  @Test func `the target's cache keeps nothing of the questions`() async throws {
    from.set("a", ["b": ["c": 1], "x": 1], in: "test")
    to.set("a", ["b": ["c": 9], "x": 9], in: "test")
    let (source, target) = (database(from), database(to))
    #expect(try await source.copy(to: target).kept == 2)
    target.goOffline()
    for path in ["a/b/c", "a/x"] {
      #expect(
        await code { () throws(DatabaseError) in
          _ = try await target.reference(withPath: path).getData()
        } == .disconnected)
    }
    await source.close()
    await target.close()
  }

  @Test func `what waits in the target's queue is not taken for the server's`() async throws {
    let data: Node = ["a": ["b": 1, "c": 2]]
    from.set(.root, data, in: "test")
    let transport = to.transport()
    let (source, target) = (database(from), database(to, transport))
    target.goOffline()
    transport.refuse(next: 1)
    let receipt = target.reference().child("a").enqueue(.set(["b": 1, "c": 2]))
    _ = try await receipt.id
    target.goOnline()
    let result = try await source.copy(to: target)
    #expect(result == Database.CopyProgress(total: 2, copied: 2, kept: 0))
    #expect(copied == data)
    #expect(try await target.pendingWriteTotals().pending == 0)
    await source.close()
    await target.close()
  }

  @Test func `with writes that wait and no connection it throws, and writes nothing`() async throws
  {
    from.set("a", 1, in: "test")
    let (source, target) = (database(from), database(to))
    target.goOffline()
    _ = try await target.reference(withPath: "b").enqueue(.set(1)).id
    #expect(
      await code { () throws(DatabaseError) in
        try await source.copy(to: target)
      } == .disconnected)
    #expect(try await target.pendingWriteTotals().pending == 1)
    await source.close()
    await target.close()
  }

  @Test func `it ends when another user signs in, as its writes wait for the one before`()
    async throws
  {
    from.set(.root, sample(), in: "test")
    let transport = to.transport()
    let source = database(from)
    let signIn = SignIn("ada")
    var configuration = DatabaseConfiguration(namespace: "test", transport: transport)
    configuration.logger.logLevel = .critical
    configuration.tokenProvider = signIn
    let target = Database(configuration)
    try await eventually("it is not connected") { target.isConnected }
    transport.hold(.toServer)
    let task = Task { try await source.copy(to: target, existing: .replace) }
    try await eventually("nothing is queued") {
      try await target.pendingWriteTotals().pending > 0
    }
    signIn.set("bob")
    target.tokenDidChange()
    #expect(
      await code { () throws(DatabaseError) in
        do { _ = try await task.value } catch let error as DatabaseError { throw error } catch {}
      } == .writeCanceled)
    transport.release()
    await source.close()
    await target.close()
  }

  @Test func `what is copied has its priorities in the target's cache`() async throws {
    let room = Node(children: [(Key("name"), Node("Attic", priority: 3))], priority: 2)
    from.set("room", room, in: "test")
    let (source, target) = (database(from), database(to))
    let place = target.reference(withPath: "room")
    #expect(try await place.getData().node == .empty)
    _ = try await source.copy("room", to: target)
    target.goOffline()
    #expect(try await place.getData().node == room)
    await source.close()
    await target.close()
  }

  @Test func `a large copy does not push out what the target's cache has`() async throws {
    from.set(.root, sample(), in: "test")
    to.set("mine", 1, in: "test")
    let (source, target) = (database(from), database(to))
    let mine = target.reference(withPath: "mine")
    #expect(try await mine.getData().node == 1)
    _ = try await source.copy(to: target)
    target.goOffline()
    #expect(try await mine.getData().node == 1)
    #expect(
      await code { () throws(DatabaseError) in
        _ = try await target.reference(withPath: "lists/large/k5").getData()
      } == .disconnected)
    await source.close()
    await target.close()
  }
}
