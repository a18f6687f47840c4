import ConiferServer
import ConiferTree
import ConiferWire
import Logging
import TestSupport
import Testing

@testable import Conifer
@testable import ConiferSync

/// The app's own tokens, from the provider to the server.
@Suite struct `Tokens of the app` {
  /// What the server gets, as far as it matters here.
  func watch(_ device: Device) -> Gathered<String> {
    let seen = Gathered<String>()
    device.transport.watch { delivered in
      guard case .toServer(.request(_, let request)) = delivered else { return }
      switch request {
      case .appCheck(let token): seen.add("app \(token ?? "-")")
      case .authenticate: seen.add("user")
      case .put(let path, _, _): seen.add("put \(path)")
      default: break
      }
    }
    return seen
  }

  @Test(arguments: [Store.memory, .lmdb])
  func `are shown before the user's, and anew when the app says so`(_ store: Store) async throws {
    let world = try World(ServerConfiguration(authenticator: SignIn.table(["ada"])))
    let attestation = Attestation()
    let device = world.device(store, isOnline: false) {
      $0.tokenProvider = SignIn("ada")
      $0.appCheckProvider = attestation
    }
    let seen = watch(device)
    device.set("a", "1", "a")
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(seen.take() == ["app one", "user", "put /a"])
    attestation.set("two")
    device.engine.refreshAppToken()
    device.set("b", "2", "b")
    await world.waitUntilIdle()
    #expect(Set(seen.take()) == ["app two", "put /b"])
    #expect(attestation.asked == [false, false])
    await device.engine.close()
  }

  @Test func `that the provider does not give hold no write up`() async throws {
    let world = try World()
    let attestation = Attestation()
    attestation.set(nil)
    let device = world.device(.memory) { $0.appCheckProvider = attestation }
    let seen = watch(device)
    device.set("a", "1", "a")
    await world.waitUntilIdle()
    #expect(seen.take() == ["put /a"])
    #expect(device.lines.take().contains("a done"))
    attestation.set("late")
    await world.pass(1_000)
    #expect(seen.take() == ["app late"])
    await device.engine.close()
  }

  @Test func `that do not come are waited for once, and asked for again after five minutes`()
    async throws
  {
    let world = try World()
    let attestation = Attestation()
    attestation.hold()
    let device = world.device(.memory) { $0.appCheckProvider = attestation }
    let seen = watch(device)
    device.set("a", "1", "a")
    await world.waitUntilIdle()
    await world.pass(9_999)
    #expect(seen.take() == [])
    await world.pass(1)
    #expect(seen.take() == ["put /a"])
    attestation.stopHolding()
    await world.pass(289_999)
    await world.pass(1)
    #expect(attestation.asked == [false] && attestation.cancelled == 0)
    await world.pass(1_000)
    #expect(seen.take() == ["app one"])
    #expect(attestation.asked == [false, false] && attestation.cancelled == 1)
    await device.engine.close()
  }

  @Test func `are asked for anew when the app has another one and no answer came`() async throws {
    let world = try World()
    let attestation = Attestation()
    attestation.hold()
    let device = world.device(.memory) { $0.appCheckProvider = attestation }
    let seen = watch(device)
    await world.waitUntilIdle()
    attestation.stopHolding()
    attestation.set("two")
    device.engine.refreshAppToken()
    await world.waitUntilIdle()
    #expect(seen.take() == ["app two"])
    #expect(attestation.asked == [false, false] && attestation.cancelled == 1)
    await device.engine.close()
  }

  @Test func `are asked for no longer once the database is closed`() async throws {
    let world = try World()
    let attestation = Attestation()
    attestation.hold()
    let device = world.device(.memory) { $0.appCheckProvider = attestation }
    let seen = watch(device)
    await world.waitUntilIdle()
    #expect(attestation.held == 1)
    await device.engine.close()
    #expect(attestation.held == 0 && attestation.cancelled == 1)
    device.clock.advance(by: 400_000)
    #expect(seen.take() == [] && attestation.asked == [false])
  }

  @Test func `are in no log, whatever the provider's error says`() async throws {
    let world = try World()
    let attestation = Attestation()
    attestation.set(nil)
    let notes = Gathered<String>()
    let device = world.device(.memory) {
      $0.appCheckProvider = attestation
      $0.logger = Logger(label: "test") { _ in NotingLogHandler(notes: notes) }
    }
    await world.waitUntilIdle()
    await device.engine.close()
    let lines = notes.all
    #expect(lines.contains { $0.contains("provider of the app's tokens failed: Unavailable") })
    #expect(!lines.contains { $0.contains("secret") })
  }

  @Test func `are never in a description`() {
    let token = AppCheckToken("secret", expiry: 7)
    var dumped = ""
    dump(token, to: &dumped)
    for text in ["\(token)", String(reflecting: token), dumped] {
      #expect(!text.contains("secret"))
    }
  }
}
