import ConiferQuery
import ConiferServer
import ConiferSync
import ConiferTree
import ConiferWire
import Synchronization
import Testing

@testable import Conifer

/// Who the client is: lanes, tokens that are kept, and tokens that are no longer taken.
@Suite struct IdentityTests {
  private func table(_ users: String...) -> TokenTable { SignIn.table(users) }

  /// A sign-in that never answers.
  private final class Silence: TokenProvider {
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

    func token(forcingRefresh: Bool) async throws -> Conifer.AuthToken? {
      await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
      return nil
    }

    func end() { for continuation in waiting.withLock({ $0 }) { continuation.resume() } }
  }

  @Test(arguments: [true, false])
  func `Writes do not wait for ever for a token provider that never answers`(
    isOnline: Bool
  ) async throws {
    let world = try World()
    let silence = Silence()
    defer { silence.end() }
    let device = world.device(.memory, isOnline: isOnline) { $0.tokenProvider = silence }
    device.set("a", "1")
    #expect(try await device.stored() == 0)
    device.clock.advance(by: 29_000)
    #expect(try await device.stored() == 0)
    device.clock.advance(by: 1_000)
    #expect(try await device.engine.writeTotals().pending == 1)
    guard case .expired(_, let error) = device.engine.authState.current else {
      Issue.record("the app is not told: \(device.engine.authState.current)")
      return
    }
    #expect(error.code == .unavailable)
  }

  @Test(arguments: Store.allCases)
  func `One user's writes are neither shown nor sent as another's`(_ store: Store) async throws {
    let writers = Writers()
    let world = try World(
      ServerConfiguration(authenticator: table("alice", "bob"), rules: writers))
    let signIn = SignIn()
    let device = world.device(store, isOnline: false) { $0.tokenProvider = signIn }
    device.listenToValue("v", QueryTarget("v"))
    device.set("v", "0", "nobody")
    await world.waitUntilIdle()
    signIn.set("alice")
    device.engine.refreshToken()
    await world.waitUntilIdle()
    device.set("v", "1", "alice")
    await world.waitUntilIdle()
    signIn.set("bob")
    device.engine.refreshToken()
    await world.waitUntilIdle()
    device.set("v", "2", "bob")
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["v value 0", "v value 1", "v value 2"])
    #expect(try await device.queued().map(\.id.identity) == ["bob"])

    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(writers.all == ["bob /v"])
    #expect(device.engine.authState.current == .signedIn(identity: "bob"))
    signIn.set("alice")
    device.engine.refreshToken()
    await world.waitUntilIdle()
    #expect(writers.all == ["bob /v", "alice /v"])
    signIn.set(nil as String?)
    device.engine.refreshToken()
    await world.waitUntilIdle()
    #expect(writers.all == ["bob /v", "alice /v", "nobody /v"])
    #expect(device.engine.authState.current == .signedOut)
    #expect(
      device.lines.take().filter { !$0.hasPrefix("v ") } == [
        "bob done", "alice done", "nobody done",
      ])
  }

  @Test(arguments: Store.durable)
  func `An app that starts offline knows its last user, unless it wants otherwise`(
    _ store: Store
  ) async throws {
    let world = try World(ServerConfiguration(authenticator: table("alice")))
    let signIn = SignIn("alice")
    let device = world.device(store) { $0.tokenProvider = signIn }
    await world.waitUntilIdle()
    device.engine.goOffline()
    device.set("v", "1")
    await world.waitUntilIdle()
    signIn.fail()
    await device.restart(isOnline: false)
    device.listenToValue("v", QueryTarget("v"))
    await world.waitUntilIdle()
    #expect(device.engine.authState.current == .known(identity: "alice"))
    #expect(device.lines.take() == ["v value 1"])

    device.configuration.keepsLastToken = false
    await device.restart(isOnline: false)
    device.listenToValue("v", QueryTarget("v"))
    await world.waitUntilIdle()
    #expect(device.engine.authState.current == .signedOut)
    #expect(device.lines.take() == [])
    device.configuration.keepsLastToken = true
    await device.restart(isOnline: false)
    await world.waitUntilIdle()
    #expect(device.engine.authState.current == .signedOut)

    signIn.set("alice")
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data("v") == json("1"))
  }

  @Test(arguments: Store.allCases)
  func `A token that is no longer taken pauses writes, not reads, and nothing is lost`(
    _ store: Store
  ) async throws {
    let writers = Writers()
    let tokens = table("alice")
    let world = try World(ServerConfiguration(authenticator: tokens, rules: writers))
    let signIn = SignIn("alice")
    let device = world.device(store) { $0.tokenProvider = signIn }
    device.listenToValue("v", QueryTarget("v"))
    await world.waitUntilIdle()
    tokens.set("token of alice", nil)
    world.server.expireTokens(in: World.namespace)
    await world.waitUntilIdle()
    for number in 1...3 { device.set(Path("v/k\(number)"), "\(number)", "w\(number)") }
    await world.waitUntilIdle()
    #expect(device.engine.authState.current.isPaused)
    #expect(writers.all == [])
    #expect(device.lines.take().last == #"v value {"k1":1,"k2":2,"k3":3}"#)

    tokens.set("new token", VerifiedToken(uid: "alice"))
    signIn.set(Conifer.AuthToken("new token", identity: "alice"))
    device.engine.refreshToken()
    await world.waitUntilIdle()
    for _ in 0..<4 { await world.pass(31_000) }
    #expect(writers.all == ["alice /v/k1", "alice /v/k2", "alice /v/k3"])
    #expect(device.lines.take() == ["w1 done", "w2 done", "w3 done"])
    #expect(device.engine.authState.current == .signedIn(identity: "alice"))
  }

  @Test(arguments: Store.allCases)
  func `What an app asks for before it knows who signed in is done in that user's name, in order`(
    _ store: Store
  ) async throws {
    let writers = Writers()
    let world = try World(ServerConfiguration(authenticator: table("alice"), rules: writers))
    let signIn = SignIn("alice")
    let device = world.device(store) { $0.tokenProvider = signIn }
    await device.atOnce { [engine = device.engine, lines = device.lines] in
      engine.onDisconnect(.put("presence", json("false"))) { error in
        lines.add("onDisconnect \(error.map { "\($0.code)" } ?? "done")")
      }
      _ = engine.write(.set("presence", json("true")), completion: nil)
      engine.get(QueryTarget("presence")) { result in
        lines.add("got \((try? result.get().node.text) ?? "nothing")")
      }
    }
    await world.waitUntilIdle()
    // A read has no place among them, and holds the write all the same.
    #expect(Set(device.lines.take()) == ["onDisconnect done", "got true"])
    #expect(world.data("presence") == json("true"))
    device.transport.disconnect()
    await world.waitUntilIdle()
    #expect(world.data("presence") == json("false"))
    #expect(Set(writers.all) == ["alice /presence"])
  }
}
