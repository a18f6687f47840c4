import ConiferQuery
import ConiferTree
import TestSupport

/// Something that happens to one of two devices, or to the world.
struct ProgramStep: Sendable, CustomStringConvertible {
  enum Action: Sendable {
    // What the app does.
    case set(Path, String)
    case update(Path, [(Path, String)])
    /// Sets a place that nobody else writes.
    case own(Int)
    case increment
    case add(Int, isVisible: Bool)
    case get(Path)
    case watch(QueryTarget)
    /// Ends the oldest observer.
    case unwatch
    case pin(Path, Bool)
    /// Asks for a write at the end of the connection; of nil, for none any more.
    case onDisconnect(Path, String?)
    case purge
    case goOffline
    case goOnline
    /// Somebody signs in, or out, and the database is told.
    case signIn(String?)
    /// The database is told so, and it is the same user.
    case confirm
    // What happens to it.
    case refuseNext
    case disconnect(serverNotices: Bool)
    case loseAnswer
    case jump(Int64)
    case pass(Int64)
    case restart(isOnline: Bool)
    case kill(isOnline: Bool)
    /// Is killed at a commit to come.
    case killLater(commits: Int, doesLast: Bool)
    case deliver(Int)
    /// The token provider fails, or no longer.
    case failTokens(Bool)
    /// The token provider does not answer, or no longer.
    case holdTokens
    /// It answers the oldest question, or the newest.
    case answerToken(isOldest: Bool)
    /// The server no longer takes the user's token.
    case revoke
  }

  let device: Int
  let action: Action
  /// Whether the app does it at once with what it did before.
  let isTogether: Bool

  /// Whether it is a call of the app's.
  var isCall: Bool {
    switch action {
    case .refuseNext, .disconnect, .loseAnswer, .jump, .pass, .restart, .kill, .killLater, .deliver,
      .failTokens,
      .holdTokens, .answerToken, .revoke:
      false
    default: true
    }
  }

  var description: String { "\(isTogether ? "+" : "")\(device).\(action)" }
}

/// A random program of two devices.
struct Program {
  private(set) var steps: [ProgramStep] = []
  private var random: Seeded
  private var number = 0
  private let canKill: Bool

  /// The program of a seed.
  ///
  /// - Parameters:
  ///   - length: how often a device does something.
  ///   - canKill: whether processes are killed.
  init(_ seed: UInt64, length: Int, canKill: Bool) {
    random = Seeded(seed)
    self.canKill = canKill
    for _ in 0..<length {
      let device = random.below(2)
      let count = random.below(4) == 0 ? 3 : 1
      for index in 0..<count {
        steps.append(ProgramStep(device: device, action: action(), isTogether: index > 0))
      }
      guard random.below(2) == 0 else { continue }
      steps.append(ProgramStep(device: 0, action: .deliver(random.below(6)), isTogether: false))
    }
  }

  private mutating func action() -> ProgramStep.Action {
    number += 1
    switch random.below(37) {
    case 0...4: return .set(place(), "\(number)")
    case 5: return .set(place(), "null")
    case 6: return .set(place(), #"{"x":\#(number),"y":{"z":\#(random.below(3))}}"#)
    case 7:
      return .update(room(), [("1", "\(number)"), ("k/x", "\(random.below(3))")])
    case 8, 9: return .own(number)
    case 10: return .add(number, isVisible: random.chance(50))
    case 11: return .goOffline
    case 12, 13: return .goOnline
    case 14: return .disconnect(serverNotices: random.chance(50))
    case 15: return .loseAnswer
    case 16: return .jump(Int64(random.below(20_000)) - 10_000)
    case 17: return .pass(Int64(random.below(5_000)))
    case 18: return .watch(target())
    case 19: return .restart(isOnline: random.chance(50))
    case 20: return .increment
    case 21: return .refuseNext
    case 22: return .get(place())
    case 23:
      let key = ["1", "k"][random.below(2)]
      return .set(room().appending(Key(key)).appending(Key.priority), "\(random.below(4))")
    case 24:
      return .set(place(), #"{".value":\#(random.below(5)),".priority":"p\#(random.below(3))"}"#)
    case 25: return random.chance(70) ? .unwatch : .pin(room(), random.chance(70))
    case 26: return .onDisconnect(place(), random.chance(80) ? "\(number)" : nil)
    case 27: return random.chance(25) ? .purge : .get(room())
    case 28...30: return .signIn(Accounts.users[random.below(3)])
    case 31: return .confirm
    case 32: return .failTokens(random.chance(50))
    case 33: return .holdTokens
    case 34: return .answerToken(isOldest: random.chance(50))
    case 35: return .revoke
    default:
      guard canKill else { return .watch(target()) }
      if random.chance(30) { return .kill(isOnline: random.chance(50)) }
      return .killLater(commits: random.below(4), doesLast: random.chance(50))
    }
  }

  private mutating func room() -> Path { Path(["a", "b"][random.below(2)]) }

  private mutating func place() -> Path {
    let room = room(), key = Key(["1", "2", "3", "k", "m"][random.below(5)])
    switch random.below(6) {
    case 0: return room
    case 1: return room.appending(key).appending(Key("x"))
    default: return room.appending(key)
    }
  }

  private mutating func target() -> QueryTarget {
    let room = Path(["a", "b", "own"][random.below(3)])
    var spec = QuerySpec.default
    do throws(TreeError) {
      switch random.below(8) {
      case 0: spec = try spec.limited(toLast: 1 + random.below(3))
      case 1: spec = try spec.ordered(by: .value).limited(toFirst: 1 + random.below(3))
      case 4: spec = try spec.ordered(byChild: "x").starting(at: 3).limited(toFirst: 2)
      case 5: spec = try spec.ordered(by: .key).ending(at: .string("3"))
      case 6: spec = try spec.ordered(by: .value)
      case 7: spec = try spec.starting(at: 1).limited(toLast: 2)
      default: break
      }
    } catch { return QueryTarget(room) }
    return QueryTarget(room, spec)
  }
}
