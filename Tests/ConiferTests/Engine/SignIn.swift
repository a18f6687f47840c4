import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Synchronization

@testable import Conifer

/// A sign-in that a test controls.
final class SignIn: TokenProvider {
  struct Unavailable: Error {}
  typealias Answer = Result<AuthToken?, Unavailable>

  /// Makes a user's token; of one that is forced another one than before.
  typealias Mint = @Sendable (_ user: String, _ isForced: Bool) -> AuthToken

  private struct State {
    /// Who is signed in; nil for nobody.
    var user: String?
    /// What is said instead of that user's token.
    var answer: Answer?
    var isHolding = false
    /// The answers that are held back, each as it was when it was asked for.
    var held: [(answer: Answer, continuation: CheckedContinuation<Answer, Never>)] = []
    /// Whether each question was for another token.
    var asked: [Bool] = []
  }

  private let state: Mutex<State>
  private let mint: Mint

  init(
    _ user: String? = nil,
    mint: @escaping Mint = { user, _ in AuthToken("token of \(user)", identity: user) }
  ) {
    state = Mutex(State(user: user))
    self.mint = mint
  }

  /// A server's list of the users' tokens.
  static func table(_ users: [String]) -> TokenTable {
    TokenTable(
      Dictionary(uniqueKeysWithValues: users.map { ("token of \($0)", VerifiedToken(uid: $0)) }))
  }

  /// Who is signed in.
  var user: String? { state.withLock { $0.user } }

  func set(_ user: String?) { state.withLock { ($0.user, $0.answer) = (user, nil) } }
  func set(_ token: AuthToken) { state.withLock { $0.answer = .success(token) } }
  func fail() { state.withLock { $0.answer = .failure(Unavailable()) } }
  /// Says no longer anything but the user's token.
  func recover() { state.withLock { $0.answer = nil } }

  /// How many answers are held back.
  var held: Int { state.withLock { $0.held.count } }
  /// Whether each question until now was for another token.
  var asked: [Bool] { state.withLock { $0.asked } }

  /// Holds back all answers from now on.
  func hold() { state.withLock { $0.isHolding = true } }

  /// Holds back no more answers from now on.
  func stopHolding() { state.withLock { $0.isHolding = false } }

  /// Waits until so many answers are held back.
  func waits(for count: Int) async { while held < count { await Task.yield() } }

  /// Gives all answers that are held back, and holds back no more.
  func releaseAll() {
    stopHolding()
    while held > 0 { release() }
  }

  /// Gives one of the answers that are held back.
  func release(_ index: Int = 0) {
    let (answer, continuation) = state.withLock { $0.held.remove(at: index) }
    continuation.resume(returning: answer)
  }

  func token(forcingRefresh: Bool) async throws -> AuthToken? {
    let answer = await withCheckedContinuation { continuation in
      let answer: Answer? = state.withLock { state in
        state.asked.append(forcingRefresh)
        let answer = state.answer ?? .success(state.user.map { mint($0, forcingRefresh) })
        guard state.isHolding else { return answer }
        state.held.append((answer, continuation))
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
    return try answer.get()
  }
}

/// Who wrote what, as the server saw it.
final class Writers: AccessRules {
  private let seen = Mutex<[String]>([])
  private let readers: [Path: String]

  /// Rules that let everybody write.
  ///
  /// - Parameter readers: places that one user alone may read.
  init(readers: [Path: String] = [:]) { self.readers = readers }

  var all: [String] { seen.withLock { $0 } }

  func allowsRead(_ target: QueryTarget, _ context: AccessContext) -> Bool {
    readers[target.path].map { $0 == context.auth?.uid } ?? true
  }
  func allowsWrite(_ path: Path, after: Node, _ context: AccessContext) -> Bool {
    seen.withLock { $0.append("\(context.auth?.uid ?? "nobody") \(path)") }
    return true
  }
}
