import ConiferQuery
import ConiferServer
import ConiferSync
import ConiferTree
import ConiferWire
import Dispatch
import Testing

@testable import Conifer

/// What answers a read, under each policy.
@Suite struct ReadPolicyTests {
  private let a = QueryTarget("a")

  @Test(arguments: Store.allCases)
  func `The cache alone answers with what it has completely, and the server is not asked`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", #"{"b":1,"c":2}"#)
    world.serverSets("l", #"{"k1":1,"k2":2}"#)
    let last = QueryTarget("l", try QuerySpec.default.limited(toLast: 1))
    await hours.fetch(a, device)
    await hours.fetch(last, device)
    device.set("a/d", "3")
    device.transport.hold()
    device.set("a/e", "4")
    await device.idle()
    device.get("a", a, .cache, saysHowWell: true)
    device.get("below", QueryTarget("a/c"), .cache)
    device.get("last", last, .cache)
    device.get("all", QueryTarget("l"), .cache)
    device.get("unknown", QueryTarget("x"), .cache)
    device.set("x", "5")
    device.get("written", QueryTarget("x"), .cache, saysHowWell: true)
    await device.idle()
    #expect(
      device.lines.take() == [
        #"a got {"b":1,"c":2,"d":3,"e":4}: cached pending at 0"#, "below got 2",
        #"last got {"k2":2}"#, "all not-cached", "unknown not-cached",
        "written got 5: cached pending in part at no time",
      ])
    #expect(device.transport.counts.gets == 0)
  }

  @Test(arguments: Store.allCases)
  func `The cache first answers at once where it has all, and otherwise the server`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", "1")
    world.serverSets("b", "2")
    await hours.fetch(a, device)
    world.serverSets("a", "9")
    device.get("a", a, .cacheFirst)
    device.get("b", QueryTarget("b"), .cacheFirst)
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["a got 1", "b got 2"])
    #expect(device.transport.counts.gets == 1)
    device.engine.goOffline()
    device.get("b", QueryTarget("b"), .cacheFirst)
    device.get("unknown", QueryTarget("x"), .cacheFirst)
    await device.idle()
    #expect(device.lines.take() == ["b got 2", "unknown disconnected"])
  }

  @Test(arguments: Store.allCases)
  func `The server alone is asked also for what an observer shows, and nothing answers for it`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", "1")
    device.watch("a", a)
    await world.waitUntilIdle()
    device.get("a", a, .server, saysHowWell: true)
    await world.waitUntilIdle()
    #expect(device.transport.counts.gets == 1)
    device.engine.goOffline()
    device.get("offline", a, .server)
    await device.idle()
    #expect(
      device.lines.take() == [
        "a value 1: current at 0", "a got 1: current at 0", "offline disconnected",
      ])
    // Without a connection it waits as long as other reads.
    device.transport.isReachable = false
    device.engine.goOnline()
    device.get("waits", a, .server)
    await world.waitUntilIdle()
    await world.pass(2_999)
    #expect(device.lines.take() == [])
    await world.pass(1)
    #expect(device.lines.take() == ["waits disconnected"])
  }

  @Test(arguments: Store.allCases)
  func
    `A server that is given some time is not waited for longer, and a late answer is for the cache`(
      _ store: Store
    ) async throws
  {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", "1")
    await hours.fetch(a, device)
    world.serverSets("a", "2")
    world.serverSets("b", "3")
    device.transport.hold()
    device.get("a", a, .server(within: 2, orCache: true), saysHowWell: true)
    device.get("b", QueryTarget("b"), .server(within: 2, orCache: true))
    device.get("strict", a, .server(within: 2, orCache: false))
    await hours.pass(seconds: 1, device)
    #expect(device.lines.take() == [])
    await hours.pass(seconds: 1, device)
    #expect(
      device.lines.take() == ["a got 1: cached at 0", "b unavailable", "strict unavailable"])
    await hours.pass(seconds: 1, device)
    device.transport.release()
    await world.waitUntilIdle()
    #expect(device.lines.take() == [])
    device.engine.goOffline()
    device.get("a", a, .cache, saysHowWell: true)
    device.get("b", QueryTarget("b"), .cache, saysHowWell: true)
    await device.idle()
    #expect(device.lines.take() == ["a got 2: cached at 3", "b got 3: cached at 3"])
  }

  @Test(arguments: Store.allCases)
  func `A server that answers in time is what counts, however long a connection took`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", "1")
    await hours.fetch(a, device)
    device.transport.isReachable = false
    device.transport.disconnect()
    await world.waitUntilIdle()
    world.serverSets("a", "2")
    device.get("a", a, .server(within: 20, orCache: true), saysHowWell: true)
    device.get("early", a, .server(within: 4, orCache: true), saysHowWell: true)
    for _ in 0..<6 { await hours.pass(seconds: 1) }
    #expect(device.lines.take() == ["early got 1: cached at 0"])
    device.transport.isReachable = true
    for _ in 0..<10 { await hours.pass(seconds: 1) }
    let line = try #require(device.lines.take().first)
    #expect(line.hasPrefix("a got 2: current at "))
    // The alarm of a read that was answered says nothing.
    await hours.pass(seconds: 20)
    #expect(device.lines.take() == [])
  }

  @Test func `An app that went offline, or has no server, does not wait out the time`() async throws
  {
    let hours = try Hours()
    let device = hours.world.device(.memory)
    hours.world.serverSets("a", "1")
    await hours.fetch(a, device)
    device.engine.goOffline()
    let alone = hours.world.device(.memory) { $0.transport = nil }
    alone.set("a", "2")
    for each in [device, alone] {
      each.get("a", a, .server(within: 60, orCache: true))
      each.get("strict", a, .server(within: 60, orCache: false))
      await each.idle()
    }
    #expect(device.lines.take() == ["a got 1", "strict disconnected"])
    #expect(alone.lines.take() == ["a got 2", "strict disconnected"])
  }

  @Test(arguments: Store.allCases)
  func `An answer that is too old is not taken, and one of unknown age neither`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    let policy = ReadPolicy.cache(notOlderThan: 60)
    world.serverSets("a", "1")
    device.get("unknown", a, policy, saysHowWell: true)
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["unknown got 1: current at 0"])
    world.serverSets("a", "2")
    await hours.pass(seconds: 60)
    device.get("young", a, policy, saysHowWell: true)
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["young got 1: cached at 0"])
    await hours.pass(seconds: 1)
    device.get("old", a, policy, saysHowWell: true)
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["old got 2: current at 61"])
    #expect(device.transport.counts.gets == 2)
    await hours.pass(seconds: 61)
    device.engine.goOffline()
    device.get("offline", a, policy)
    device.get("cached", a, .cache)
    await device.idle()
    #expect(device.lines.take() == ["offline disconnected", "cached got 2"])
    // A clock that was set back makes nothing younger.
    device.clock.jump(by: -10_000_000)
    device.get("set back", a, policy)
    await device.idle()
    #expect(device.lines.take() == ["set back disconnected"])
  }

  @Test(arguments: Store.durable)
  func `After a restart the server is asked once how old it is`(_ store: Store) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", "1")
    await hours.fetch(a, device)
    await device.restart()
    await world.waitUntilIdle()
    for name in ["first", "second"] {
      device.get(name, a, .cache(notOlderThan: 60), saysHowWell: true)
      await world.waitUntilIdle()
    }
    #expect(device.lines.take() == ["first got 1: current at 0", "second got 1: cached at 0"])
    #expect(device.transport.counts.gets == 1)
  }

  @Test(arguments: Store.allCases)
  func `What the server keeps up to date is not old, however long nothing changes`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", #"{"b":1}"#)
    device.listen("", a, .init(.childRemoved))
    await world.waitUntilIdle()
    await hours.pass(seconds: 600)
    device.get("b", QueryTarget("a/b"), .cache(notOlderThan: 1), saysHowWell: true)
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["b got 1: current at 0"])
    #expect(device.transport.counts.gets == 0)
    device.engine.goOffline()
    device.get("b", QueryTarget("a/b"), .cache(notOlderThan: 1))
    await device.idle()
    #expect(device.lines.take() == ["b disconnected"])
  }

  @Test(arguments: Store.allCases)
  func `When the server fails, what the policy allows answers`(_ store: Store) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", "1")
    await hours.fetch(a, device)
    for status in [Response.Status.unavailable, .permissionDenied] {
      device.transport.intercept { request in
        if case .get = request { Response(status, reason: "by the test") } else { nil }
      }
      device.get("strict", a, .server)
      device.get("or cache", a, .server(within: 5, orCache: true))
      device.get("first", QueryTarget("x"), .cacheFirst)
      await world.waitUntilIdle()
      // The cached data may have been readable for another user only.
      let isDenied = status == .permissionDenied
      let code = DatabaseError(status, reason: nil, "").code
      #expect(
        device.lines.take() == [
          "strict \(code)", isDenied ? "or cache \(code)" : "or cache got 1", "first \(code)",
        ])
    }
  }

  @Test(arguments: Store.allCases)
  func `A database that is closed meanwhile tells all who wait, and nobody later`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let device = hours.world.device(store)
    await hours.world.waitUntilIdle()
    device.transport.hold()
    device.get("timed", a, .server(within: 5, orCache: true))
    device.get("server", a, .server)
    device.get("late", a, .server(within: 1, orCache: false))
    await hours.pass(seconds: 1, device)
    await device.engine.close()
    await withCheckedContinuation { done in device.queue.async { done.resume() } }
    #expect(device.lines.take() == ["late unavailable", "timed closed", "server closed"])
    device.clock.advance(by: 60_000)
    device.get("cache", a, .cache)
    await hours.world.waitUntilIdle()
    #expect(device.lines.take() == ["cache closed"])
  }

  @Test(arguments: Store.allCases)
  func `While a database is suspended its reads wait, and then have no time left for the server`(
    _ store: Store
  ) async throws {
    let hours = try Hours()
    let (world, device) = (hours.world, hours.world.device(store))
    world.serverSets("a", "1")
    await hours.fetch(a, device)
    try await device.engine.suspend()
    device.get("timed", a, .server(within: 2, orCache: true), saysHowWell: true)
    device.get("strict", a, .server(within: 2, orCache: false))
    device.get("cache", a, .cache, saysHowWell: true)
    hours.advance(seconds: 2, device)
    await withCheckedContinuation { done in device.queue.async { done.resume() } }
    #expect(device.lines.take() == [])
    try await device.engine.resume()
    await device.idle()
    #expect(
      device.lines.take() == [
        "timed got 1: cached at 0", "strict unavailable", "cache got 1: cached at 0",
      ])
    #expect(device.transport.counts.gets == 0)
  }

  @Test func `Reads behind a write that waits for the sign-in wait no longer than they may`()
    async throws
  {
    let hours = try Hours(ServerConfiguration(authenticator: SignIn.table(["alice", "bob"])))
    let (world, signIn) = (hours.world, SignIn("alice"))
    let device = world.device(.memory) { $0.tokenProvider = signIn }
    world.serverSets("a", "1")
    await hours.fetch(a, device)
    signIn.hold()
    device.engine.refreshToken()
    await signIn.waits(for: 1)
    device.set("w", "1")
    device.get("strict", a, .server(within: 1, orCache: false))
    device.get("cache", a, .cache)
    device.get("recent", a, .cache(notOlderThan: 60))
    device.get("long", QueryTarget("x"), .server(within: 5, orCache: true))
    await hours.pass(seconds: 1, device)
    #expect(device.lines.take() == ["strict unavailable"])
    await hours.pass(seconds: 2, device)
    #expect(device.lines.take() == ["cache got 1", "recent got 1"])
    await hours.pass(seconds: 2, device)
    #expect(device.lines.take() == ["long unavailable"])
    signIn.releaseAll()
    await world.waitUntilIdle()
    #expect(world.data("w") == 1)
  }

  @Test func `Times that are none count as none, and endless ones end some day`() {
    for seconds in [-1, 0, -Double.infinity, .nan] {
      #expect(ReadPolicy.server(within: seconds, orCache: true).patience == 0)
    }
    #expect(ReadPolicy.server(within: 0.0004, orCache: true).patience == 1)
    #expect(ReadPolicy.server(within: 1.5, orCache: true).patience == 1_500)
    #expect(ReadPolicy.server(within: .infinity, orCache: true).patience == 100_000_000_000_000)
    #expect(ReadPolicy.server.patience == nil)
  }

  @Test func `Each refusal says why, and what to do`() {
    let errors = [
      ReadPolicy.cache.unreachable("/a"), ReadPolicy.server.unreachable("/a"),
      ReadPolicy.cacheFirst.unreachable("/a"), ReadPolicy.default.unreachable("/a"),
      ReadPolicy.cache(notOlderThan: 1.5).unreachable("/a"),
      ReadPolicy.server(within: 2, orCache: false).late("/a"),
      ReadPolicy.server(within: 2, orCache: true).late("/a"),
    ]
    #expect(
      errors.map(\.message) == [
        "The cache does not hold all of /a.",
        "There is no connection, and only the server may answer for /a.",
        "There is no connection, and the cache does not hold all of /a.",
        "There is no connection, and the cache does not hold all of /a.",
        "There is no connection, and the cache holds nothing of /a that is known to be no older than 1500 ms.",
        "The server did not answer for /a within 2 s.",
        "The server did not answer for /a within 2 s, and the cache does not hold all of it.",
      ])
    for error in errors { #expect(error.remedy?.hasSuffix(".") == true) }
  }
}
