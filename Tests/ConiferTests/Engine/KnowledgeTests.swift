import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Testing

@testable import Conifer

/// How well the data that listeners, reads and transactions are told is known.
@Suite struct KnowledgeTests {
  private let a = QueryTarget("a")

  @Test(arguments: Store.allCases)
  func `What no server ever told is known from the app's own writes alone`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    device.watch("a", a)
    device.watch("child", a, .children)
    device.set("a/b", "1")
    await device.idle()
    // The rest of the place is unknown: no value is told.
    #expect(device.lines.take() == ["child added b 1: cached pending in part at no time"])
    device.set("a", "2")
    await device.idle()
    #expect(
      device.lines.take() == [
        "child removed b: cached pending in part at no time",
        "a value 2: cached pending in part at no time",
      ])
  }

  @Test(arguments: Store.allCases)
  func
    `What the server has told is current until the connection breaks, and again when it has answered`(
      _ store: Store
    ) async throws
  {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", "1")
    device.watch("a", a)
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["a value 1: current at 0"])
    await hours.pass(seconds: 5)
    world.serverSets("a", "2")
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["a value 2: current at 5"])
    device.engine.goOffline()
    device.set("a", "3")
    await device.idle()
    #expect(device.lines.take() == ["a value 3: cached pending at 5"])
    await hours.pass(seconds: 5)
    device.engine.goOnline()
    await world.waitUntilIdle()
    // Data and answer are what was shown: no change of the metadata alone is told.
    #expect(device.lines.take() == [])
    world.serverSets("a", "4")
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["a value 4: current at 10"])
  }

  @Test(arguments: Store.durable)
  func `After a restart cached data is from the cache, as of an unknown time`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", #"{"b":1}"#)
    await hours.fetch(QueryTarget("a"), device)
    await device.restart(isOnline: false)
    device.watch("a", a)
    await device.idle()
    #expect(device.lines.take() == [#"a value {"b":1}: cached at no time"#])
    device.set("a/c", "2")
    await device.idle()
    #expect(device.lines.take() == [#"a value {"b":1,"c":2}: cached pending at no time"#])
    await device.restart(isOnline: false)
    device.watch("a", a, .children)
    await device.idle()
    #expect(
      device.lines.take() == [
        "a added b 1: cached at no time", "a added c 2 after b: cached pending at no time",
      ])
  }

  @Test(arguments: Store.allCases)
  func `In one run it is remembered when the server told what is cached`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", #"{"b":1}"#)
    world.serverSets("r", "1")
    await hours.fetch(QueryTarget("a"), device)
    await hours.pass(seconds: 5)
    device.get("r", QueryTarget("r"), saysHowWell: true)
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["r got 1: current at 5"])
    device.engine.goOffline()
    await hours.pass(seconds: 5)
    let last = QueryTarget("a", try QuerySpec.default.limited(toLast: 1))
    for (name, target) in [("last", last), ("below", QueryTarget("a/b")), ("a", a)] {
      device.watch(name, target)
    }
    device.get("r", QueryTarget("r"), saysHowWell: true)
    await device.idle()
    #expect(
      device.lines.take() == [
        #"last value {"b":1}: cached at 0"#, "below value 1: cached at 0",
        #"a value {"b":1}: cached at 0"#, "r got 1: cached at 5",
      ])
  }

  @Test(arguments: Store.allCases)
  func `Cached data is not current before the server has answered the listen`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", "1")
    await hours.fetch(QueryTarget("a"), device)
    device.transport.hold()
    device.watch("a", a)
    await device.idle()
    #expect(device.lines.take() == ["a value 1: cached at 0"])
    await hours.pass(seconds: 3, device)
    world.serverSets("a", "2")
    device.transport.release()
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["a value 2: current at 3"])
  }

  @Test(arguments: Store.allCases)
  func `A write is pending until it is answered, and a refused one is taken back`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", "1")
    device.watch("a", a)
    await world.waitUntilIdle()
    _ = device.lines.take()
    device.transport.refuse(next: 1)
    device.set("a", "2", "write")
    await world.waitUntilIdle()
    #expect(
      device.lines.take() == [
        "a value 2: current pending at 0", "a value 1: current at 0", "write permission-denied",
      ])
    device.set("a", "3", "write")
    await world.waitUntilIdle()
    // That it is done is no event; the next one is not pending.
    #expect(device.lines.take() == ["a value 3: current pending at 0", "write done"])
    world.serverSets("a", "4")
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["a value 4: current at 0"])
  }

  @Test(arguments: Store.allCases)
  func `In a child's event writes count that wait in the child, in a query's those that change it`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", #"{"k1":1,"k2":2,"k3":3}"#)
    let last = QueryTarget("a", try QuerySpec.default.limited(toLast: 2))
    await hours.fetch(last, device)
    device.engine.goOffline()
    device.set("a/k0", "0")
    device.set("b", "0")
    device.watch("outside", last)
    await device.idle()
    #expect(device.lines.take() == [#"outside value {"k2":2,"k3":3}: cached at 0"#])
    device.set("a/k3", "9")
    device.watch("inside", last)
    device.watch("child", last, .children)
    await device.idle()
    #expect(
      device.lines.take() == [
        #"outside value {"k2":2,"k3":9}: cached pending at 0"#,
        #"inside value {"k2":2,"k3":9}: cached pending at 0"#,
        "child added k2 2: cached at 0", "child added k3 9 after k2: cached pending at 0",
      ])
    device.set("a/k3", "null")
    await device.idle()
    #expect(
      device.lines.take() == [
        "child removed k3: cached pending at 0", "child added k0 0: cached pending at 0",
        #"outside value {"k0":0,"k2":2}: cached pending at 0"#,
        #"inside value {"k0":0,"k2":2}: cached pending at 0"#,
      ])
  }

  @Test(arguments: Store.allCases)
  func `A place within a current one is current, until it has a listen of its own to be answered`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", #"{"b":1}"#)
    let all = device.listen("", a, .init(.childRemoved))
    await world.waitUntilIdle()
    device.watch("b", QueryTarget("a/b"))
    await device.idle()
    #expect(device.lines.take() == ["b value 1: current at 0"])
    device.transport.hold()
    device.engine.stopObserving(all)
    device.set("a/b", "2")
    await device.idle()
    #expect(device.lines.take() == ["b value 2: cached pending at 0"])
    device.transport.release()
    await world.waitUntilIdle()
    world.serverSets("a/b", "3")
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["b value 3: current at 0"])
  }

  @Test(arguments: Store.allCases)
  func `What may not be read is told from the cache, if at all, and then no longer`(
    _ store: Store
  ) async throws {
    let hours = try Hours(
      ServerConfiguration(
        authenticator: SignIn.table(["alice", "bob"]), rules: Writers(readers: ["a": "alice"])))
    let (world, signIn) = (hours.world, SignIn("alice"))
    let device = world.device(store) { $0.tokenProvider = signIn }
    world.serverSets("a", "1")
    await hours.fetch(QueryTarget("a"), device)
    signIn.set("bob")
    device.engine.refreshToken()
    await world.waitUntilIdle()
    device.watch("a", a)
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["a value 1: cached at 0", "a cancel permission-denied"])
  }

  @Test(arguments: Store.allCases)
  func `Another user's writes do not count`(_ store: Store) async throws {
    let hours = try Hours(ServerConfiguration(authenticator: SignIn.table(["alice", "bob"])))
    let (world, signIn) = (hours.world, SignIn("alice"))
    let device = world.device(store) { $0.tokenProvider = signIn }
    world.serverSets("a", "1")
    device.watch("a", a)
    await world.waitUntilIdle()
    device.engine.goOffline()
    device.set("a", "2")
    await device.idle()
    signIn.set("bob")
    device.engine.refreshToken()
    await device.idle()
    #expect(
      device.lines.take() == [
        "a value 1: current at 0", "a value 2: cached pending at 0", "a value 1: cached at 0",
      ])
  }

  @Test(arguments: Store.allCases)
  func `A read that the server answers is current, with what waits over it`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", #"{"b":1}"#)
    await world.waitUntilIdle()
    device.transport.hold(.toServer)
    device.get("before", a, saysHowWell: true)
    device.set("a/c", "2")
    device.get("with", a, saysHowWell: true)
    await device.idle()
    device.transport.release()
    await world.waitUntilIdle()
    device.engine.goOffline()
    device.set("a/d", "3")
    device.get("after", a, saysHowWell: true)
    device.get("written", QueryTarget("w"), saysHowWell: true)
    await device.idle()
    #expect(
      device.lines.take() == [
        #"before got {"b":1,"c":2}: current pending at 0"#,
        #"with got {"b":1,"c":2}: current at 0"#,
        #"after got {"b":1,"c":2,"d":3}: cached pending at 0"#, "written disconnected",
      ])
  }

  @Test func `A transaction's result is the server's when it is committed, else what is known`()
    async throws
  {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(.memory))
    world.serverSets("n", "1")
    await world.waitUntilIdle()
    let lines = device.lines
    func transact(_ decision: @escaping @Sendable (Node) -> TransactionMachine.Decision) {
      device.engine.transact(at: "n", raisesLocalEvents: true, update: decision) {
        lines.add(
          "\($0.map { "\($0.code)" } ?? "\($1)") \($2.node.text): \(Device.words($2.knowledge))")
      }
    }
    transact { _ in .write(2) }
    await world.waitUntilIdle()
    device.listen("", QueryTarget("n"), .init(.childRemoved))
    await world.waitUntilIdle()
    transact { _ in .abort }
    await world.waitUntilIdle()
    device.engine.goOffline()
    transact { _ in .abort }
    await device.idle()
    #expect(
      lines.take() == ["true 2: current at 0", "false 2: current at 0", "false 2: cached at 0"])
  }

  @Test func `What the client says itself is current, and no server told it`() async throws {
    let world = try World()
    let device = world.device(.memory)
    let target = QueryTarget(".info/connected")
    device.watch("connected", target)
    await world.waitUntilIdle()
    device.get("got", target, .server, saysHowWell: true)
    device.get("cached", target, .cache, saysHowWell: true)
    await device.idle()
    let words = "current at no time"
    #expect(
      device.lines.take() == [
        "connected value false: \(words)", "connected value true: \(words)",
        "got got true: \(words)", "cached got true: \(words)",
      ])
  }

  @Test(arguments: Store.durable)
  func `What was evicted is no longer known`(_ store: Store) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", #"{"b":1}"#)
    await hours.fetch(QueryTarget("a"), device)
    let backend = try #require(await device.engine.backend)
    _ = try await backend.evicting().evict(to: 0, dryRun: false)
    device.engine.goOffline()
    device.watch("a", a)
    device.set("a", "2")
    await device.idle()
    #expect(device.lines.take() == ["a value 2: cached pending in part at no time"])
  }
}
