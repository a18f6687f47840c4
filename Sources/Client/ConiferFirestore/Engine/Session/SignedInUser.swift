import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import Logging

/// The user who is signed in: asks the token provider, has steps wait until that is known, hands out tokens, and keeps
/// for the next start who it is and whether that may have changed.
///
/// Each stream is opened with a token, while the Realtime Database's connection sends tokens by a machine of its own: so
/// each client has its own `SignedInUser` over the shared `IdentityGate`. Who was signed in last counts as known from the
/// start, so that writes are queued without a network; the provider is asked first when nobody was ever known, or when a
/// sign-in was not answered.
final class SignedInUser {
  private var gate = IdentityGate<DocumentStep>()
  private var token = HeldToken.unknown
  /// Who is signed in, as the provider said last.
  private(set) var identity = ""
  /// The identity whose writes the engine shows, and whose token it uses.
  private var shown = ""
  /// How many changes of user the engine has not made yet.
  private var changesLeft = 0
  /// The identity that is stored for the next start; nil when none is.
  private var stored: String?
  private var questions = TokenQuestions()
  /// How many of the writes that wait are of `identity`, as the provider had said before it was asked again.
  private var known = 0
  private var waiting: [(Result<String?, StatusError>) -> Void] = []
  private var retry = Retry()
  private let setup: FirestoreConfiguration
  private let store: DocumentStore
  private let post: @Sendable (DocumentStep) -> Void

  init(
    _ setup: FirestoreConfiguration, _ store: DocumentStore,
    _ post: @escaping @Sendable (DocumentStep) -> Void
  ) {
    self.setup = setup
    self.store = store
    self.post = post
  }

  // MARK: Begin and end

  /// Begins as the user who was signed in last, as the storage has it; gives that user's identity.
  func begin(_ backend: any StorageBackend, _ tree: TreeID) throws(StoreError) -> String {
    let (user, change) = try backend.read { (view) throws(StoreError) in
      (try view.metadata(tree, MetadataName.user), try view.metadata(tree, MetadataName.change))
    }
    gate = IdentityGate(isChangeStored: change != nil)
    guard setup.tokenProvider != nil else { return "" }
    stored = user.map { String(decoding: $0, as: UTF8.self) }
    identity = stored ?? ""
    shown = identity
    if stored == nil || change != nil { askWhoItIs() }
    return identity
  }

  /// The database is closed: nobody is asked any longer, and nothing waits.
  func close() {
    gate.cancelQuestions()
    gate.becameKnown()
    questions = TokenQuestions()
    retry = Retry()
    tell(.failure(StatusError(.failedPrecondition, "The database was closed.")))
  }

  // MARK: Steps that wait

  /// Whether the token provider is being asked, and the engine waits for its answer.
  var isAsking: Bool { questions.isAwaited }

  /// Whether it is not known whose queue counts, as the token provider is being asked.
  var isIdentifying: Bool { gate.isAsking }

  /// How many writes wait until it is known who made them.
  var heldWriteCount: Int { gate.writeCount }

  /// Keeps a step that has to wait until it is known who is signed in.
  ///
  /// - Returns: whether it waits; otherwise it is to be done now.
  func holdBack(_ step: DocumentStep) -> Bool { gate.holdBack(step, step.dependence) }

  /// Takes the steps that no longer wait.
  func takeReady() -> [DocumentStep] { gate.takeReady() }

  // MARK: The token provider

  /// How long the provider may take to answer, in milliseconds.
  private static let answerTime: Int64 = 30_000

  /// Somebody signed in or out.
  func identify() {
    guard setup.tokenProvider != nil, !store.engine.hasEnded else { return }
    // Those who write from now on may be somebody else.
    if !isShown, !questions.identify { known = gate.writeCount }
    // This is stored before the provider is asked, because the next start may have another user.
    if gate.mustStore(isChanging: true) {
      keep(isChanging: true, [.setMetadata(store.tree, MetadataName.change, [1])])
    }
    askWhoItIs()
  }

  /// When `tick` is to be called.
  var deadline: Int64? {
    let late = questions.oldest.map { $0 + Self.answerTime }
    let first = min(retry.moment ?? .max, late ?? .max)
    return first == .max ? nil : first
  }

  /// The time of `deadline` has come; harmless before.
  func tick() {
    let late = questions.becomeLate(since: setup.clock.now - Self.answerTime)
    for number in late.forgotten { gate.cancelQuestion(number) }
    if let isIdentification = late.isIdentification {
      fail("it did not answer in \(Self.answerTime / 1000) seconds", isIdentification)
    }
    guard retry.isDue(at: setup.clock.now) else { return }
    // Steps that need not wait go on as the user who was signed in last.
    ask(forcingRefresh: false, isIdentification: true)
  }

  /// The server does not take a token: another one is asked for before the next attempt, unless there is another one already.
  ///
  /// - Parameter refused: the token of the stream or request that was refused; nil when it had none.
  func invalidate(_ refused: String?) { token.refuse(refused) }

  /// Gives the user's token, nil for nobody, now or once the provider has answered.
  ///
  /// A token that is about to end is given until it has ended or another one has come, which is asked for meanwhile.
  func withToken(_ body: @escaping (Result<String?, StatusError>) -> Void) {
    guard setup.tokenProvider != nil else { return body(.success(nil)) }
    let now = setup.clock.wallTime
    var isForced = false
    switch token {
    case .known(_, let lifetime) where now >= lifetime?.expiry ?? .max: token = .unknown
    case .known(let token, let lifetime) where !questions.identify:
      if now >= lifetime?.renewal ?? .max, !questions.isAwaited {
        ask(forcingRefresh: false, isIdentification: false)
      }
      return body(.success(token?.token))
    case .known: break
    case .refused: isForced = true
    case .unknown: break
    }
    waiting.append(body)
    if !questions.isAwaited { ask(forcingRefresh: isForced, isIdentification: false) }
  }

  /// The same for a transaction or an aggregate of the app: it fails while a change of user waits, and so is never asked
  /// as the user before.
  func withRequestToken(_ body: @escaping (Result<String?, StatusError>) -> Void) {
    guard !isChanging else { return body(.failure(Self.deferred)) }
    withToken(body)
  }

  private func askWhoItIs() {
    gate.askingBegan()
    // What was asked before may be answered with the token of the user before.
    for number in questions.forgetAll() { gate.cancelQuestion(number) }
    // Until the provider has answered, the last token may be another user's.
    if case .known = token { token = .unknown }
    ask(forcingRefresh: false, isIdentification: true)
  }

  private func ask(forcingRefresh force: Bool, isIdentification: Bool) {
    guard let provider = setup.tokenProvider else { return }
    let number = questions.add(
      isIdentification: isIdentification, isForced: force, at: setup.clock.now)
    gate.ask(provider, forcingRefresh: force, number) { [post] in
      post(.tokenAnswered($0, number))
    }
  }

  /// What the engine has to do after an answer of the provider.
  enum Change {
    case none
    /// Another user is signed in: the engine shows that user's writes, and then calls `shows`. Some writes of one whom the
    /// storage could not keep are given up.
    case user(AuthToken?, givenUp: [DocumentStep])
  }

  /// The provider has answered a question.
  func answered(_ answer: ProviderAnswer, _ number: UInt64) -> Change {
    // Earlier questions do not matter any more. A later one may have been answered already.
    guard let ended = questions.end(through: number, { gate.ended($0) }) else { return .none }
    switch answer {
    case .token(let new):
      // Who it is was asked again meanwhile, and this tells it.
      if ended.isLate, ended.isIdentification { questions.identified() }
      let name = new?.identity ?? ""
      guard name.utf8.elementsEqual(identity.utf8) else {
        // Unless it was asked who is signed in, all that wait are of the user whom the storage could not keep.
        let isAsked = ended.isIdentification || questions.identify
        let givenUp = isShown ? [] : gate.takeWrites(isAsked ? known : .max)
        (identity, known) = (name, 0)
        changesLeft += 1
        // Nothing is asked for as the user before.
        if case .known = token { token = .unknown }
        return .user(new, givenUp: givenUp)
      }
      // The token of a user who is not shown yet is taken with the change of user.
      guard isShown else {
        changeIsDeferred()
        return .none
      }
      if token.isRefused(new?.token), !ended.isForced {
        // It was refused while the provider was asked for any. It tells who is signed in nevertheless.
        if ended.isIdentification, !questions.identify { becameIdentified() }
        if !questions.isForced { ask(forcingRefresh: true, isIdentification: false) }
      } else {
        token = HeldToken(new, at: setup.clock.wallTime)
      }
      return .none
    case .failed(let words):
      // One that took too long has failed already.
      if !ended.isLate { fail(words, ended.isIdentification) }
      return .none
    }
  }

  private func fail(_ words: String, _ isIdentification: Bool) {
    setup.logger.warning("the token provider failed", metadata: ["cause": "\(words)"])
    token.renewalFailed(at: setup.clock.wallTime)
    if isIdentification, !questions.identify {
      gate.askingFailed()
      retry.failed(at: setup.clock.now)
    }
    // The answer to another question may still be a token.
    guard !questions.isAwaited else { return }
    tell(.failure(StatusError(.unavailable, "The token provider gave no token: \(words)")))
  }

  // MARK: What is known

  /// Whether a change of user is left.
  private var isChanging: Bool { changesLeft > 0 }

  /// Whether the engine shows who is signed in, and no change of user is left.
  private var isShown: Bool { !isChanging && shown.utf8.elementsEqual(identity.utf8) }

  /// A change of user waits for the storage: whoever waits for a token is told so, and writes wait.
  func changeIsDeferred() {
    gate.askingBegan()
    tell(.failure(Self.deferred))
  }

  private static let deferred = StatusError(
    .unavailable,
    "Another user signed in, and the storage cannot keep that yet: it is tried again. Ask again later."
  )

  /// Stores a user, whose writes are about to be shown, as the user of the next start, or throws.
  func willShow(_ identity: String) throws(StoreError) {
    try store.commit([.setMetadata(store.tree, MetadataName.user, Array(identity.utf8))])
    stored = identity
  }

  /// The engine shows a user's writes from now on: streams are opened with that user's token.
  func shows(_ new: AuthToken?) {
    changesLeft -= 1
    shown = new?.identity ?? ""
    token = HeldToken(new, at: setup.clock.wallTime)
  }

  /// Releases the waiting steps if the engine shows the signed-in user's writes, and stores that user for the next start.
  func releaseWaitingSteps() {
    guard isShown, !questions.identify, case .known(let token, _) = token else { return }
    becameIdentified()
    tell(.success(token?.token))
  }

  /// The provider has said that the user is signed in whose writes the engine shows.
  private func becameIdentified() {
    retry = Retry()
    known = 0
    gate.becameKnown()
    if gate.mustStore(isChanging: false) || stored == nil {
      keep(
        isChanging: false,
        [
          .setMetadata(store.tree, MetadataName.user, Array(shown.utf8)),
          .setMetadata(store.tree, MetadataName.change, nil),
        ])
    }
  }

  /// Stores who is signed in, or that the user may have changed, for the next start.
  private func keep(isChanging: Bool, _ edits: [StorageEdit]) {
    guard store.lane != nil else { return }
    gate.storing(isChanging: isChanging)
    do throws(StoreError) {
      try store.commit(edits)
      if !isChanging { stored = shown }
    } catch {
      gate.storingFailed()
      store.log("who is signed in is not kept for the next start", error)
    }
  }

  private func tell(_ result: Result<String?, StatusError>) {
    let bodies = waiting
    waiting = []
    for body in bodies { body(result) }
  }
}
