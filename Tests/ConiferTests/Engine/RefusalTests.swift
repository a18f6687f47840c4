import ConiferQuery
import ConiferServer
import ConiferTree
import Synchronization
import Testing

@testable import Conifer

/// What is left of a listen that the server refused.
@Suite struct RefusalTests {
  /// Rules that a test changes.
  private final class Door: AccessRules {
    private let isOpen = Mutex(false)

    func open() { isOpen.withLock { $0 = true } }
    func allowsRead(_ target: QueryTarget, _ context: AccessContext) -> Bool {
      isOpen.withLock { $0 } || context.auth != nil
    }
    func allowsWrite(_ path: Path, after: Node, _ context: AccessContext) -> Bool { true }
  }

  private final class SignIn: TokenProvider {
    private let user = Mutex<String?>(nil)

    func set(_ new: String?) { user.withLock { $0 = new } }
    func token(forcingRefresh: Bool) async throws -> AuthToken? {
      user.withLock { $0 }.map { AuthToken("token of \($0)", identity: $0) }
    }
  }

  @Test(arguments: Store.allCases)
  func `What a get brings after a refused listen is cached`(_ store: Store) async throws {
    let door = Door()
    let world = try World(ServerConfiguration(rules: door))
    world.serverSets("a", "1")
    let device = world.device(store)
    device.listenToValue("a", QueryTarget("a"))
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["a cancel permission-denied"])
    door.open()
    device.get("online", QueryTarget("a"))
    await world.waitUntilIdle()
    device.engine.goOffline()
    device.get("offline", QueryTarget("a"))
    await world.waitUntilIdle()
    await world.pass(4_000)
    #expect(device.lines.take() == ["online got 1", "offline got 1"])
  }

  @Test(arguments: Store.allCases)
  func `A pin that was refused is downloaded when somebody signs in who may`(
    _ store: Store
  ) async throws {
    let table = TokenTable(["token of alice": VerifiedToken(uid: "alice")])
    let world = try World(ServerConfiguration(authenticator: table, rules: Door()))
    world.serverSets("p", "1")
    let signIn = SignIn()
    let device = world.device(store) { $0.tokenProvider = signIn }
    device.engine.setPinned(true, QueryTarget("p"))
    await world.waitUntilIdle()
    signIn.set("alice")
    device.engine.refreshToken()
    await world.waitUntilIdle()
    device.engine.goOffline()
    device.listenToValue("p", QueryTarget("p"))
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["p value 1"])
  }

  @Test(arguments: Store.allCases)
  func `A write of an app that just starts is that of who is signed in`(
    _ store: Store
  ) async throws {
    let table = TokenTable(["token of alice": VerifiedToken(uid: "alice")])
    let world = try World(ServerConfiguration(authenticator: table))
    let signIn = SignIn()
    signIn.set("alice")
    let device = world.device(store) { $0.tokenProvider = signIn }
    let receipt = device.set("a", "1", "first")
    device.add(1, at: "n", "t")
    device.set("a", "2", "second")
    await world.waitUntilIdle()
    #expect(try await receipt.id?.identity == "alice")
    #expect(world.data == json(#"{"a":2,"n":1}"#))
    #expect(try await device.queued().isEmpty)
  }
}
