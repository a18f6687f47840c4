import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Testing

@testable import Conifer

/// What a single read waits for, and what it answers with.
@Suite struct GetTests {
  @Test(arguments: Store.allCases)
  func `A complete view answers at once, whatever the connection does`(
    _ store: Store
  ) async throws {
    let world = try World()
    world.serverSets("a", #"{"b":1,"c":2}"#)
    let device = world.device(store)
    device.listen("a", QueryTarget("a"), [])
    let last = QueryTarget("l", try QuerySpec.default.limited(toLast: 1))
    device.listen("l", last, [])
    await world.waitUntilIdle()
    device.transport.hold()
    device.set("a/b", "5")
    device.get("a", QueryTarget("a"))
    device.get("below", QueryTarget("a/c"))
    device.get("l", last)
    // Looked at before anything is delivered, and before any time has passed.
    await device.idle()
    #expect(device.lines.take() == [#"a got {"b":5,"c":2}"#, "below got 2", "l got null"])
    #expect(device.transport.counts.gets == 0)
  }

  @Test(arguments: Store.allCases)
  func `An app that went offline waits for no read`(_ store: Store) async throws {
    let world = try World()
    world.serverSets("a", "1")
    let device = world.device(store)
    let id = device.listen("a", QueryTarget("a"), [])
    await world.waitUntilIdle()
    device.engine.stopObserving(id)
    await world.waitUntilIdle()
    // One is under way when the app goes.
    device.transport.hold()
    device.get("first", QueryTarget("a"))
    await device.idle()
    device.engine.goOffline()
    device.get("cached", QueryTarget("a"))
    device.get("unknown", QueryTarget("b"))
    device.set("b", "2")
    device.get("written", QueryTarget("b"))
    await device.idle()
    #expect(
      device.lines.take()
        == ["first got 1", "cached got 1", "unknown disconnected", "written got 2"])
  }

  @Test func `Without a way to a server no read waits`() async throws {
    let world = try World()
    let device = world.device(.memory) { $0.transport = nil }
    device.set("a", "1")
    device.get("a", QueryTarget("a"))
    device.get("b", QueryTarget("b"))
    await device.idle()
    #expect(device.lines.take() == ["a got 1", "b disconnected"])
  }

  @Test(arguments: Store.allCases)
  func `A read stands behind no queue, and holds what waits in it`(_ store: Store) async throws {
    let world = try World()
    world.serverSets("w", #"{"n":5,"x":"old"}"#)
    let device = world.device(store, isOnline: false)
    let (count, far) = (300, 250)
    for number in 0..<count { device.set(Path("w/k\(number)"), "\(number)") }
    for _ in 0..<3 { device.set("w/n", #"{".sv":{"increment":1}}"#) }
    device.set("w/x", #""new""#)
    await device.idle()
    let sent = Sent(device)
    device.engine.goOnline()
    device.get("w", QueryTarget("w"))
    while !device.lines.all.contains(where: { $0.hasPrefix("w ") }) {
      await device.idle()
      guard world.pump.step() else { break }
    }
    let line = try #require(device.lines.take().last)
    let node = json(String(line.dropFirst("w got ".count)))
    #expect(node.childCount == count + 2, "\(line)")
    #expect(node[Path("n")] == json("8") && node[Path("x")] == json(#""new""#))
    let writes = sent.paths.count
    #expect(writes < far, "\(writes) writes were sent before")
    await world.waitUntilIdle()
    #expect(world.data("w") == node)
    // What is cached is the server's.
    device.engine.goOffline()
    device.get("again", QueryTarget("w/n"))
    await device.idle()
    #expect(device.lines.take() == ["again got 8"])
  }

  @Test(arguments: Store.allCases, [Response.Status.failure, .unavailable])
  func `When the server does not give it, a read takes what is cached`(
    _ store: Store, _ status: Response.Status
  ) async throws {
    let world = try World()
    world.serverSets("a", #"{"b":1}"#)
    let device = world.device(store)
    device.get("first", QueryTarget("a"))
    await world.waitUntilIdle()
    device.transport.intercept { request in
      if case .get = request { Response(status, reason: "by the test") } else { nil }
    }
    device.set("a/c", "2")
    await world.waitUntilIdle()
    device.get("a", QueryTarget("a"))
    device.get("below", QueryTarget("a/b"))
    device.get("unknown", QueryTarget("x"))
    await world.waitUntilIdle()
    let code = DatabaseError(status, reason: nil, "").code
    #expect(
      device.lines.take() == [
        #"first got {"b":1}"#, #"a got {"b":1,"c":2}"#, "below got 1", "unknown \(code)",
      ])
  }

  @Test(arguments: Store.allCases)
  func `What a user may not read is not given from another user's cache`(
    _ store: Store
  ) async throws {
    let rules = Writers(readers: ["private": "alice"])
    let world = try World(
      ServerConfiguration(authenticator: SignIn.table(["alice", "bob"]), rules: rules))
    world.serverSets("private", #"{"n":7}"#)
    let signIn = SignIn("alice")
    let device = world.device(store) { $0.tokenProvider = signIn }
    device.get("alice", QueryTarget("private"))
    await world.waitUntilIdle()
    signIn.set("bob")
    device.engine.refreshToken()
    await world.waitUntilIdle()
    device.get("bob", QueryTarget("private"))
    await world.waitUntilIdle()
    #expect(device.lines.take() == [#"alice got {"n":7}"#, "bob permission-denied"])
  }

  @Test func `A read on a connection that is dead is answered in half a minute`() async throws {
    let world = try World()
    world.serverSets("a", "1")
    let device = world.device(.memory)
    device.get("first", QueryTarget("a"))
    await world.waitUntilIdle()
    _ = device.lines.take()
    // A cable is pulled: nothing comes any more, and nothing says so.
    device.transport.hold()
    device.get("a", QueryTarget("a"))
    device.get("b", QueryTarget("b"))
    device.set("c", "1", "c")
    await device.idle()
    device.transport.isReachable = false
    for _ in 0..<30 { await world.pass(1_000) }
    #expect(device.lines.take() == ["a got 1", "b disconnected"])
    // The write waits, and goes on over the next connection.
    device.transport.isReachable = true
    device.transport.release()
    for _ in 0..<4 { await world.pass(10_000) }
    #expect(device.lines.take() == ["c done"])
    #expect(world.data("c") == json("1"))
  }
}
