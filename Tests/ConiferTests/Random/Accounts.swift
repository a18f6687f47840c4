import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Synchronization

@testable import Conifer

/// Who is signed in on each of two devices, which of their tokens the server takes, and who wrote what.
final class Accounts: Authenticator, AccessRules {
  static let users: [String?] = [nil, "alice", "bob"]

  private struct State {
    /// The number of the newest token of each user.
    var newest: [String: Int] = [:]
    /// The first one that is taken.
    var oldestTaken: [String: Int] = [:]
    /// The places of `own` that are somebody's.
    var places: Set<Path> = []
    /// Who wrote each place of `own`.
    var writers: [Path: Set<String>] = [:]
  }

  private let state = Mutex(State())

  /// A provider of tokens; they last for a minute of the device's time.
  func provider(_ clock: any EngineClock) -> SignIn {
    SignIn { [self] user, isForced in
      let number = state.withLock { state in
        if isForced { state.newest[user, default: 1] += 1 }
        return state.newest[user, default: 1]
      }
      return AuthToken("\(user)#\(number)", identity: user, expiry: clock.wallTime + 60_000)
    }
  }

  /// Has the server take none of a user's tokens that there are.
  func revoke(_ user: String) {
    state.withLock { $0.oldestTaken[user] = $0.newest[user, default: 1] + 1 }
  }

  func verify(_ credential: Credential, now: Int64) throws(TokenRefusal) -> VerifiedToken {
    let parts = credential.token.split(separator: "#").map { String($0) }
    guard parts.count == 2, let number = Int(parts[1]) else { throw TokenRefusal.invalid }
    let oldest = state.withLock { $0.oldestTaken[parts[0], default: 1] }
    guard number >= oldest else { throw TokenRefusal.expired }
    return VerifiedToken(uid: parts[0])
  }

  func allowsRead(_ target: QueryTarget, _ context: AccessContext) -> Bool { true }
  /// To the server a client whose token was revoked is nobody, until it shows another; what it had sent
  /// before it heard of that is refused, as by the rules of an app that gives each user places.
  func allowsWrite(_ path: Path, after: Node, _ context: AccessContext) -> Bool {
    guard path.first == Key("own") else { return true }
    return state.withLock { state in
      if context.auth == nil, !state.oldestTaken.isEmpty, state.places.contains(path) {
        return false
      }
      state.writers[path, default: []].insert(context.auth?.uid ?? "")
      return true
    }
  }

  /// Gives a place of `own` to whoever is signed in.
  func give(_ path: Path, to user: String?) {
    if user != nil { state.withLock { _ = $0.places.insert(path) } }
  }

  /// Who wrote a place, as the server saw it; empty for nobody.
  func writers(of path: Path) -> Set<String> { state.withLock { $0.writers[path] ?? [] } }
}

/// A write to a place that nobody else writes.
struct OwnWrite {
  let device: Device
  let path: Path
  let receipt: WriteReceipt
  /// Who was signed in when the app asked for it; and whoever signed in before the provider had said so.
  var users: Set<String>
  /// Whether the provider had not said so yet, and the write is not queued.
  var isEarly: Bool
}

extension WriteReceipt {
  /// Whether the write has its id by now.
  var isQueued: Bool {
    get async {
      let id = Task { try await self.id }
      // It is given what is known, and waits for nothing.
      id.cancel()
      return (try? await id.value) != nil
    }
  }
}

extension Device {
  /// Whether it is known who is signed in.
  func knowsUser() async -> Bool {
    await engine.ask { $0.user.isKnown }
  }
}
