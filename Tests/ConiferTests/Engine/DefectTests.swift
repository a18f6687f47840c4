import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Foundation
import Synchronization
import Testing

@testable import Conifer
@testable import ConiferSync

/// Defects that the reference's section 10 lists, by its numbers: Conifer has none of them.
@Suite struct DefectTests {
  @Test(arguments: Store.allCases)
  func `1: no storage is read or written on the caller's thread`(_ store: Store) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store, isOnline: false) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    // The engine's thread is held up, and still every call returns.
    let (held, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    device.engine.steps.post(
      .run { _ in
        held.signal()
        release.wait()
      })
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        held.wait()
        continuation.resume()
      }
    }
    let before = script.counts
    device.set("a", "1")
    device.listen("a", QueryTarget("a"))
    device.engine.setPinned(true, QueryTarget("b"))
    device.get("g", QueryTarget("c"))
    device.engine.purge()
    let after = script.counts
    #expect(after.cacheReads == before.cacheReads && after.commits == before.commits)
    #expect(after.queueReads == before.queueReads)
    release.signal()
    await world.waitUntilIdle()
    #expect(script.counts.commits.count > before.commits.count)
  }

  @Test(arguments: Store.allCases)
  func `2: each logical step is one commit`(_ store: Store) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    device.set("a/b", "1")
    await world.waitUntilIdle()
    // The answer's end, the cache and its tracked query.
    #expect(script.counts.commits.contains(["enqueue"]))
    #expect(script.counts.commits.contains(["finish", "overwrite", "saveQuery"]))
    script.reset()
    device.listen("l", QueryTarget("l", try QuerySpec.default.limited(toLast: 2)))
    await world.waitUntilIdle()
    world.serverSets("l", #"{"x":1,"y":2,"z":3}"#)
    await world.waitUntilIdle()
    let pushed = try #require(script.counts.commits.last)
    #expect(pushed.filter { $0 == "overwrite" }.count == 2)
    #expect(pushed.contains { $0.hasSuffix("TrackedKeys") })
  }

  @Test(arguments: Store.allCases)
  func `3: writes that wait together share a commit`(_ store: Store) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store, isOnline: false) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await device.idle()
    script.reset()
    let release = DispatchSemaphore(value: 0)
    device.engine.steps.post(.run { _ in release.wait() })
    for number in 0..<200 { device.set("a", "\(number)") }
    release.signal()
    await device.idle()
    #expect(script.counts.commits.count <= 2)
    #expect(script.counts.commits.joined().count == 200)
  }

  @Test(arguments: Store.allCases)
  func `4: an increment is marked as sent before it leaves, and its outcome is told`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store)
    await world.waitUntilIdle()
    device.transport.hold(.toServer)
    device.set("n", #"{".sv":{"increment":1}}"#)
    await world.waitUntilIdle()
    let sent = try await device.queued()
    #expect(sent.map(\.state) == [.sent] && sent.map(\.attempts) == [1])
    device.transport.isReachable = false
    device.transport.disconnect()
    await world.waitUntilIdle()
    #expect(try await device.queued().map(\.state) == [.outcomeUnknown])
  }

  @Test(arguments: Store.durable)
  func `6: a get of a filtered query marks no more complete than it is`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("l", #"{"a":1,"b":2,"c":3}"#)
    let two = QueryTarget("l", try QuerySpec.default.limited(toLast: 2))
    let device = world.device(store)
    device.get("two", two)
    await world.waitUntilIdle()
    #expect(device.lines.take() == [#"two got {"b":2,"c":3}"#])
    await device.restart(isOnline: false)
    device.listen("two", two, .init(.value))
    device.listen("all", QueryTarget("l"))
    await world.waitUntilIdle()
    #expect(
      device.lines.take() == [
        #"two value {"b":2,"c":3}"#, "all added b 2", "all added c 3 after b",
      ])
    device.get("all", QueryTarget("l"))
    await world.waitUntilIdle()
    await world.pass(3_000)
    #expect(device.lines.take() == ["all disconnected"])
  }

  @Test(arguments: Store.durable)
  func `8: only the server's keys are kept for a filtered query`(_ store: Store) async throws {
    let world = try World()
    world.serverSets("l", #"{"a":1,"b":2}"#)
    let two = QueryTarget("l", try QuerySpec.default.limited(toLast: 2))
    let device = world.device(store)
    device.listen("l", two, .init(.value))
    await world.waitUntilIdle()
    device.engine.goOffline()
    device.set("l/c", "3")
    await world.waitUntilIdle()
    #expect(device.lines.take().last == #"l value {"b":2,"c":3}"#)
    device.engine.purge()
    await world.waitUntilIdle()
    await device.restart(isOnline: false)
    device.listen("l", two, .init(.value))
    await world.waitUntilIdle()
    #expect(device.lines.take() == [#"l value {"a":1,"b":2}"#])
  }

  @Test(arguments: Store.allCases)
  func `12: each of several transactions that run again raises its events`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("f", #"{"a":10,"b":20}"#)
    let device = world.device(store)
    device.listen("a", QueryTarget("f/a"), .init(.value))
    device.listen("b", QueryTarget("f/b"), .init(.value))
    await world.waitUntilIdle()
    device.transport.hold(.toServer)
    device.add(1, at: "f/a", "one")
    device.add(2, at: "f/b", "two")
    device.add(4, at: "f/b", "three")
    await world.waitUntilIdle()
    #expect(
      device.lines.take() == [
        "a value 10", "b value 20", "a value 11", "b value 22", "b value 26",
      ])
    world.serverSets("f", #"{"a":100,"b":200}"#)
    await world.waitUntilIdle()
    // What came lies under the transactions, which run again when the server refuses them.
    #expect(device.lines.take() == [])
    device.transport.release()
    await world.waitUntilIdle()
    let told = device.lines.take()
    #expect(told.last { $0.hasPrefix("a ") } == "a value 101")
    #expect(told.last { $0.hasPrefix("b ") } == "b value 206")
    #expect(
      Set(told.filter { $0.contains("committed") }) == [
        "one committed 101", "two committed 202", "three committed 206",
      ])
    #expect(world.data("f") == json(#"{"a":101,"b":206}"#))
  }

  @Test(arguments: Store.allCases)
  func `13: a get under way when the connection breaks is answered after it`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("a", "1")
    let device = world.device(store)
    await world.waitUntilIdle()
    device.transport.hold(.toServer)
    device.get("a", QueryTarget("a"))
    await world.waitUntilIdle()
    device.transport.disconnect()
    device.transport.release()
    await world.waitUntilIdle()
    await world.pass(2_000)
    #expect(device.lines.take() == ["a got 1"])
  }

  @Test(arguments: Store.allCases)
  func `13: what the server did not do at a disconnect is not taken for its data`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("online", "true")
    let device = world.device(store)
    device.listen("online", QueryTarget("online"), .init(.value))
    device.engine.onDisconnect(.put("online", json("false")), completion: nil)
    await world.waitUntilIdle()
    device.transport.isReachable = false
    device.transport.disconnect(serverNotices: false)
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["online value true"])
    #expect(world.data("online") == json("true"))
    device.transport.endLost()
    device.transport.isReachable = true
    await world.pass(60_000)
    #expect(device.lines.take() == ["online value false"])
  }

  @Test(arguments: Store.durable)
  func `9: a write below a leaf with a priority is read back as it is`(_ store: Store) async throws
  {
    let world = try World()
    world.serverSets("a", #"{".value":1,".priority":2}"#)
    let device = world.device(store)
    device.listen("a", QueryTarget("a"), .init(.value))
    await world.waitUntilIdle()
    world.serverSets("a/b", "3")
    await world.waitUntilIdle()
    await device.restart(isOnline: false)
    device.listen("a", QueryTarget("a"), .init(.value))
    await world.waitUntilIdle()
    #expect(device.lines.take() == [#"a value {".priority":2,"b":3}"#])
  }

  @Test(arguments: Store.durable)
  func `14: of complete data a limit reads the children of its window alone`(
    _ store: Store
  ) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    world.server.set(
      "list", Node(children: (0..<400).map { (Key("k\($0 + 1000)"), Node(.integer(Int64($0)))) }),
      in: World.namespace)
    let device = world.device(store) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    device.listenToValue("all", QueryTarget("list"))
    await world.waitUntilIdle()
    await device.restart(isOnline: false)
    await device.idle()
    script.reset()
    let limits = try [
      QuerySpec.default.limited(toLast: 3),
      QuerySpec.default.ordered(by: .value).limited(toFirst: 3),
      QuerySpec.default.ordered(by: .key).starting(at: .string("k1200")).limited(toFirst: 3),
    ]
    for (number, limit) in limits.enumerated() {
      device.listenToValue("\(number)", QueryTarget("list", limit))
    }
    await device.idle()
    #expect(
      device.lines.take() == [
        #"0 value {"k1397":397,"k1398":398,"k1399":399}"#,
        #"1 value {"k1000":0,"k1001":1,"k1002":2}"#,
        #"2 value {"k1200":200,"k1201":201,"k1202":202}"#,
      ])
    #expect(script.counts.nodesRead == 9)
  }

  @Test(arguments: Store.allCases)
  func `16: the hash of data that did not change is not computed again`(
    _ store: Store
  ) async throws {
    let world = try World()
    let text = Node(.string(String(repeating: "text", count: 10)))
    world.server.set(
      "list", Node(children: (0..<100).map { (Key("k\($0)"), text) }), in: World.namespace)
    let device = world.device(store)
    device.listenToValue("all", QueryTarget("list"))
    await world.waitUntilIdle()
    let sent = Sent(device)
    func reconnected() async throws -> (hash: String, compound: CompoundHash) {
      device.transport.disconnect()
      await world.waitUntilIdle()
      await world.pass(60_000)
      let listens = sent.all.compactMap { request -> (String, CompoundHash)? in
        guard case .listen(_, _, let hash, let compound?) = request else { return nil }
        return (hash, compound)
      }
      return try #require(listens.last)
    }
    func isSame(_ a: CompoundHash, _ b: CompoundHash) -> Bool {
      a.hashes.withUnsafeBufferPointer { a in
        b.hashes.withUnsafeBufferPointer { b in a.baseAddress == b.baseAddress }
      }
    }
    let first = try await reconnected()
    #expect(first.hash == NodeHash.hash(world.data("list")))
    #expect(isSame(try await reconnected().compound, first.compound))
    world.serverSets("list/k1", "1")
    await world.waitUntilIdle()
    let second = try await reconnected()
    #expect(second.hash == NodeHash.hash(world.data("list")))
    #expect(!isSame(second.compound, first.compound))
  }

  @Test(arguments: Store.allCases)
  func `19: a listen begun while a token is shown is sent once`(_ store: Store) async throws {
    struct Alice: TokenProvider {
      func token(forcingRefresh: Bool) async throws -> Conifer.AuthToken? {
        Conifer.AuthToken("alice", identity: "alice")
      }
    }
    let world = try World()
    let device = world.device(store) { $0.tokenProvider = Alice() }
    await device.idle()
    // Connected, and the token's answer is under way.
    device.transport.hold(.toClient)
    await world.waitUntilIdle()
    device.listen("a", QueryTarget("a"), .init(.value))
    await world.waitUntilIdle()
    device.transport.release()
    await world.waitUntilIdle()
    #expect(device.transport.counts.listens == 1)
    #expect(device.lines.take() == ["a value null"])
  }
}
