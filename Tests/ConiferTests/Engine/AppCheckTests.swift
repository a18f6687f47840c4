import ConiferServer
import ConiferTree
import ConiferWire
import Synchronization
import TestSupport
import Testing

@testable import Conifer
@testable import ConiferSync

/// The app's own tokens, from the provider to the server.
@Suite struct `Tokens of the app` {
  /// A provider that a test controls.
  final class Attestation: AppCheckProvider {
    struct Unavailable: Error {}

    private struct State {
      var text: String? = "one"
      var asked: [Bool] = []
    }

    private let state = Mutex(State())

    /// Whether each question was for another token.
    var asked: [Bool] { state.withLock { $0.asked } }

    /// Gives another token from now on; nil to fail.
    func set(_ text: String?) { state.withLock { $0.text = text } }

    func token(forcingRefresh: Bool) async throws -> AppCheckToken {
      let text = state.withLock { state in
        state.asked.append(forcingRefresh)
        return state.text
      }
      guard let text else { throw Unavailable() }
      return AppCheckToken(text)
    }
  }

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

  @Test func `are never in a description`() {
    let token = AppCheckToken("secret", expiry: 7)
    var dumped = ""
    dump(token, to: &dumped)
    for text in ["\(token)", String(reflecting: token), dumped] {
      #expect(!text.contains("secret"))
    }
  }
}
