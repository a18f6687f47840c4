import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import Logging

/// Who is signed in: asks the token provider, has steps wait until that is known, and hands out tokens.
final class SignedInUser {
  /// What the token provider answered.
  enum Answer: Sendable {
    case token(AuthToken?)
    case failed(String)
  }

  private enum Token {
    case unknown
    /// It is to be replaced.
    case invalid
    case known(AuthToken?)
  }

  private static let firstDelay: Int64 = 1_000
  private static let longestDelay: Int64 = 60_000

  /// The name under which the tree's metadata says who was signed in last.
  static let name = "conifer.user"

  private var gate = IdentityGate<DocumentStep>()
  private var token = Token.unknown
  /// Who is signed in, as the provider said last.
  private(set) var identity = ""
  /// Whose writes the engine shows, which that user's token goes with.
  private var shown = ""
  /// Questions whose answers tell who is signed in, by their numbers.
  private var identifying: Set<UInt64> = []
  private var lastQuestion: UInt64 = 0
  /// When the provider, which did not say who is signed in, is asked again.
  private(set) var deadline: Int64?
  private var delay = SignedInUser.firstDelay
  private var waiting: [(Result<String?, StatusError>) -> Void] = []
  private let setup: FirestoreConfiguration
  private let post: @Sendable (DocumentStep) -> Void

  init(_ setup: FirestoreConfiguration, _ post: @escaping @Sendable (DocumentStep) -> Void) {
    self.setup = setup
    self.post = post
  }

  // MARK: Begin and end

  /// Begins as the user who was signed in last, as the storage has it.
  func begin(as stored: String) {
    identity = setup.tokenProvider == nil ? "" : stored
    shown = identity
    if setup.tokenProvider != nil { identify() }
  }

  /// The database is closed: nobody is asked any longer, and nothing waits.
  func close() {
    gate.cancelQuestions()
    gate.becameKnown()
    deadline = nil
    tell(.failure(StatusError(.failedPrecondition, "The database was closed.")))
  }

  // MARK: Steps that wait

  /// How many questions to the token provider are under way.
  var questionCount: Int { gate.questionCount }

  /// Keeps a step that has to wait until it is known who is signed in.
  ///
  /// - Returns: whether it waits; otherwise it is to be done now.
  func holdBack(_ step: DocumentStep) -> Bool { gate.holdBack(step, step.dependence) }

  /// Takes the steps that no longer wait.
  func takeReady() -> [DocumentStep] { gate.takeReady() }

  // MARK: The token provider

  /// Somebody signed in or out.
  func identify() {
    guard setup.tokenProvider != nil else { return }
    gate.askingBegan()
    identifying.insert(ask(forcingRefresh: false))
  }

  /// The time of `deadline` has come; harmless before.
  func tick() {
    guard let moment = deadline, moment <= setup.clock.now else { return }
    deadline = nil
    // What need not wait goes on as the user who was signed in last.
    identifying.insert(ask(forcingRefresh: false))
  }

  /// The server does not take the token: another one is asked for before the next attempt.
  func invalidateToken() { token = .invalid }

  /// Gives the user's token, nil for nobody, now or once the provider has answered.
  func withToken(_ body: @escaping (Result<String?, StatusError>) -> Void) {
    guard setup.tokenProvider != nil else { return body(.success(nil)) }
    if identifying.isEmpty, case .known(let token) = token, !isExpired(token) {
      return body(.success(token?.token))
    }
    waiting.append(body)
    guard gate.questionCount == 0 else { return }
    var isForced = false
    if case .invalid = token { isForced = true }
    _ = ask(forcingRefresh: isForced)
  }

  private func isExpired(_ token: AuthToken?) -> Bool {
    token?.expiry.map { $0 <= setup.clock.wallTime } ?? false
  }

  private func ask(forcingRefresh force: Bool) -> UInt64 {
    lastQuestion += 1
    let number = lastQuestion
    guard let provider = setup.tokenProvider else { return number }
    let question = Task.detached { [post] in
      let answer: Answer
      do {
        answer = .token(try await provider.token(forcingRefresh: force))
      } catch {
        answer = .failed("\(error)")
      }
      post(.tokenAnswered(answer, number))
    }
    gate.began(question, number)
    return number
  }

  /// What an answer means for the engine.
  enum Change {
    case none
    /// Another user is signed in: the engine shows that user's writes, and then calls `shows`.
    case user(AuthToken?)
  }

  /// The provider has answered a question.
  func answered(_ answer: Answer, _ number: UInt64) -> Change {
    gate.ended(number)
    let isIdentification = identifying.remove(number) != nil
    switch answer {
    case .token(let new):
      if let new, !new.hasValidIdentity {
        fail(
          "The token's identity is not 1 to \(Lane.longestIdentity) UTF-8 bytes without a zero. Give the user's id.",
          isIdentification)
        return .none
      }
      let name = new?.identity ?? ""
      guard name.utf8.elementsEqual(identity.utf8) else {
        identity = name
        return .user(new)
      }
      // The token of a user who is not shown yet comes with the change.
      if isShown { token = .known(new) }
      return .none
    case .failed(let words):
      fail(words, isIdentification)
      return .none
    }
  }

  private func fail(_ words: String, _ isIdentification: Bool) {
    setup.logger.warning("the token provider failed", metadata: ["cause": "\(words)"])
    if isIdentification, identifying.isEmpty {
      gate.askingFailed()
      deadline = setup.clock.now + delay
      delay = min(delay * 3 / 2, Self.longestDelay)
    }
    let error = StatusError(.unavailable, "The token provider gave no token: \(words)")
    tell(.failure(error))
  }

  private var isShown: Bool { shown.utf8.elementsEqual(identity.utf8) }

  /// The engine shows a user's writes from now on: streams are opened with that user's token.
  func shows(_ new: AuthToken?) {
    shown = new?.identity ?? ""
    token = .known(new)
  }

  /// What waited goes on if the engine shows the writes of who is signed in, and the provider is not being asked.
  func settle() {
    guard isShown, gate.questionCount == 0, case .known(let token) = token else { return }
    (deadline, delay) = (nil, Self.firstDelay)
    gate.becameKnown()
    tell(.success(token?.token))
  }

  private func tell(_ result: Result<String?, StatusError>) {
    let bodies = waiting
    waiting = []
    for body in bodies { body(result) }
  }
}

extension AuthToken {
  /// Whether a lane can be named by its identity.
  fileprivate var hasValidIdentity: Bool {
    (1...Lane.longestIdentity).contains(identity.utf8.count) && !identity.utf8.contains(0)
  }
}
