import ConiferKeyValue
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Logging

/// The user who is signed in: asks the token provider, keeps the answer for the next start, and has the views show that
/// user's writes.
final class SignedInUser {
  private var gate = IdentityGate<Step>()
  private let setup: DatabaseConfiguration
  private let storage: EngineStorage
  private let views: Views
  private let transactions: Transactions
  private let pins: PinnedQueries
  private let connection: Connection
  private let outbox: Outbox
  private let authState: StateSource<AuthState>
  private let post: @Sendable (Step) -> Void

  private static let limits = ConnectionLimits()
  /// The name under which the last token stands in the tree's metadata.
  private static let tokenName = "conifer.token"
  /// The name under which the tree's metadata says that the user may have changed, and to whom is unknown.
  private static let changeName = "conifer.change"
  /// The name under which the tree's metadata says who is signed in, for processes beside this one; empty for nobody.
  private static let userName = "conifer.user"
  /// Whom the store names there; nil when it names nobody, or that is not known.
  private var keptUser: String?
  /// Whether somebody has said who is signed in: a provider that fails at the start leaves whom the store names.
  private var isTold = false

  init(
    _ setup: DatabaseConfiguration, _ storage: EngineStorage, _ views: Views,
    _ transactions: Transactions, _ pins: PinnedQueries, _ connection: Connection, _ outbox: Outbox,
    _ authState: StateSource<AuthState>, _ post: @escaping @Sendable (Step) -> Void
  ) {
    self.setup = setup
    self.storage = storage
    self.views = views
    self.transactions = transactions
    self.pins = pins
    self.connection = connection
    self.outbox = outbox
    self.authState = authState
    self.post = post
  }

  /// Who is signed in, as a storage has it; empty for nobody, and nil when it does not say, or the user may have changed
  /// since.
  static func last(_ view: any StorageView, _ tree: TreeID) throws(StoreError) -> String? {
    guard try view.metadata(tree, changeName) == nil else { return nil }
    if let user = try keptUser(view, tree) { return user }
    // A store of an earlier version.
    return try view.metadata(tree, tokenName).flatMap { UserToken(stored: $0) }?.identity
  }

  private static func keptUser(
    _ view: any StorageView, _ tree: TreeID
  ) throws(StoreError) -> String? {
    try view.metadata(tree, userName).map { String(decoding: $0, as: UTF8.self) }
  }

  // MARK: Begin and end

  /// Begins as the user who was signed in last, as the storage has it.
  func begin(_ backend: any StorageBackend, _ tree: TreeID) throws(StoreError) {
    let (kept, change, user) = try backend.read { (view) throws(StoreError) in
      (
        try view.metadata(tree, Self.tokenName), try view.metadata(tree, Self.changeName),
        try Self.keptUser(view, tree)
      )
    }
    keptUser = user
    gate = IdentityGate(isChangeStored: change != nil)
    let usesTokens = setup.tokenProvider != nil
    let token =
      usesTokens && setup.keepsLastToken
      ? kept.flatMap { UserToken(stored: $0) } : nil
    let lane = Lane(tree: tree, identity: token?.identity ?? "")
    let newest = try backend.read { (view) throws(StoreError) in try view.totals(lane).newest }
    storage.open(backend, lane)
    connection.begin(
      ConnectionMachine(
        namespace: setup.namespace, lane: lane, newest: newest, usesTokens: usesTokens,
        token: token, isChanging: change != nil, usesAppCheck: setup.appCheckProvider != nil,
        limits: Self.limits, seed: setup.random()))
    isTold = !usesTokens || token != nil
    if let token { authState.set(.known(identity: token.identity)) }
    if kept != nil, !setup.keepsLastToken { storeToken(nil) }
    // A write that the app makes while it starts belongs to the user who turns out to be signed in,
    // and is not stored as nobody's.
    if let identification = connection.identification {
      take(identification)
      if identification == .known { store(isChanging: false) }
    }
  }

  /// The database is closed: nobody is asked any longer, and nothing waits.
  func close() {
    gate.cancelQuestions()
    gate.becameKnown()
    authState.finish()
  }

  // MARK: Steps that wait

  /// Whether it is known who is signed in.
  var isKnown: Bool { gate.isKnown }

  /// Whether it is not known whose queue counts, as the token provider is being asked.
  var isIdentifying: Bool { gate.isAsking }

  /// How many writes wait until it is known who made them.
  var heldWriteCount: Int { gate.count(where: \.isWrite) }

  /// How many steps wait for the token provider's answer.
  var waitingCount: Int { gate.waitingCount }

  /// How many questions to the token provider are under way.
  var questionCount: Int { gate.questionCount }

  /// Keeps a step that has to wait until it is known who is signed in.
  ///
  /// - Returns: whether it waits; otherwise it is to be done now.
  func holdBack(_ step: Step) -> Bool {
    guard gate.holdBack(step, step.dependence) else { return false }
    if case .get(let request) = step { scheduleEnd(of: request) }
    return true
  }

  /// Takes the steps that no longer wait.
  func takeReady() -> [Step] { gate.takeReady() }

  /// Has a read that waits behind writes end when it has waited as long as reads may.
  private func scheduleEnd(of request: GetRequest) {
    setup.clock.wake(at: Self.end(of: request)) { [post] in post(.endLateGets) }
  }

  /// When a read has waited as long as it may.
  private static func end(of request: GetRequest) -> Int64 {
    request.issued + (request.policy.patience ?? limits.getTimeout)
  }

  /// Takes the reads that have waited as long as reads may.
  func takeLateGets() -> [GetRequest] {
    let now = setup.clock.now
    let late = gate.remove { step in
      if case .get(let request) = step { Self.end(of: request) <= now } else { false }
    }
    return late.compactMap { if case .get(let request) = $0 { request } else { nil } }
  }

  // MARK: What is known

  /// It is known who is signed in, or no longer. The store is told too, so that the next start does
  /// not use the lane of the last user before the provider has answered.
  func changed(_ identification: Identification) {
    take(identification)
    store(isChanging: identification != .known)
  }

  /// The gate treats the first answer of a run, which is still awaited, like the answer after a change of user.
  private func take(_ identification: Identification) {
    switch identification {
    case .known:
      gate.becameKnown()
      post(.takeMail(MailTaking()))
    case .starting, .changing: gate.askingBegan()
    case .unanswered: gate.askingFailed()
    }
  }

  /// Somebody signed in or out, as the app says.
  func refreshToken() {
    // Stored before the provider is asked.
    if setup.tokenProvider != nil { store(isChanging: true) }
    connection.tell(.refreshToken)
  }

  /// Has the next start know whether the user may have changed, and other processes who is signed in.
  private func store(isChanging: Bool) {
    guard let lane = storage.lane else { return }
    guard gate.mustStore(isChanging: isChanging) else {
      if !isChanging { storeUser() }
      return
    }
    gate.storing(isChanging: isChanging)
    // Both or none: nobody may take the last user for one who is known to be signed in.
    var edits = isChanging ? [] : userEdits(lane.tree)
    edits.append(.setMetadata(lane.tree, Self.changeName, isChanging ? [1] : nil))
    outbox.addEdits(edits) { [self] result in
      guard case .failure(let error) = result else { return }
      gate.storingFailed()
      userIsNotKept(error)
    }
  }

  /// Has other processes know who is signed in.
  private func storeUser() {
    guard let lane = storage.lane,
      keptUser?.utf8.elementsEqual(connection.identity.utf8) != true
    else { return }
    let edits = userEdits(lane.tree)
    guard !edits.isEmpty else { return }
    outbox.addEdits(edits) { [self] result in
      if case .failure(let error) = result { userIsNotKept(error) }
    }
  }

  /// What names the user who is signed in; nothing where no other process can be told, or nobody has said so.
  private func userEdits(_ tree: TreeID) -> [StorageEdit] {
    guard setup.hasMailbox, isTold else { return [] }
    let identity = connection.identity
    keptUser = identity
    return [.setMetadata(tree, Self.userName, [UInt8](identity.utf8))]
  }

  private func userIsNotKept(_ error: StoreError) {
    keptUser = nil
    setup.logger.error("the sign-in is not kept", metadata: ["cause": "\(error)"])
  }

  // MARK: Tokens

  /// Asks the app for a token, off the engine's thread.
  func fetchToken(force: Bool, _ number: UInt64) {
    guard let provider = setup.tokenProvider else {
      return connection.tell(.token(.signedOut, fetch: number))
    }
    gate.ask(provider, forcingRefresh: force, number) { [post] in
      post(.tokenAnswered(TokenAnswer($0), number))
    }
  }

  /// The app has answered.
  func answered(_ answer: TokenAnswer, _ number: UInt64) {
    gate.ended(number)
    let wasTold = isTold
    if case .failed = answer {} else { isTold = true }
    connection.tell(.token(answer, fetch: number))
    // An answer that comes too late counts for nothing.
    if !answer.names(connection.identity) { isTold = wasTold }
    // Also when that changes nobody, as the store may name another one, or a failure kept it from naming this one.
    if connection.identification == .known { storeUser() }
  }

  /// Stores the last token for the next start, where the app wants that.
  func storeToken(_ token: UserToken?) {
    guard let lane = storage.lane else { return }
    let bytes = setup.keepsLastToken ? token.map(\.stored) : nil
    outbox.addEdits([.setMetadata(lane.tree, Self.tokenName, bytes)]) { [logger = setup.logger] in
      guard case .failure(let error) = $0 else { return }
      logger.error("the last token is not kept", metadata: ["cause": "\(error)"])
    }
  }

  // MARK: What follows

  /// Tells the app what the server makes of the token.
  func report(_ state: Authentication) {
    let identity = connection.identity
    func expired(_ code: DatabaseError.Code, _ words: String) -> AuthState {
      .expired(identity: identity, DatabaseError(code, words))
    }
    switch state {
    case .signedOut: authState.set(.signedOut)
    case .pending: authState.set(.known(identity: identity))
    case .authenticated:
      authState.set(.signedIn(identity: identity))
      pins.signedIn()
    case .blocked(.expired(let words)): authState.set(expired(.expiredToken, words))
    case .blocked(.refused(let words)): authState.set(expired(.invalidToken, words))
    case .blocked(.unavailable(let words)): authState.set(expired(.unavailable, words))
    }
  }

  /// Another user is signed in: views show the server's data first, then that user's queue over it.
  func changeLane(_ lane: Lane) {
    guard storage.lane != nil else { return }
    // Also when the server has not said yet what it makes of either user's token.
    authState.set(lane.identity.isEmpty ? .signedOut : .known(identity: lane.identity))
    transactions.giveUp(.identityChanged)
    connection.tell(.laneOpened(newest: views.changeLane(to: lane)))
    pins.signedIn()
    if connection.identification == .known { storeUser() }
    // Other processes may have left writes of this user.
    post(.takeMail(MailTaking()))
  }
}

extension TokenAnswer {
  /// Whether it says that a user is signed in, empty for nobody.
  fileprivate func names(_ identity: String) -> Bool {
    switch self {
    case .failed: false
    case .signedOut: identity.isEmpty
    case .token(let token): token.identity.utf8.elementsEqual(identity.utf8)
    }
  }

  fileprivate init(_ answer: ProviderAnswer) {
    switch answer {
    case .failed(let words): self = .failed(words)
    case .token(nil): self = .signedOut
    case .token(let token?):
      self = .token(
        UserToken(Credential(token.token), identity: token.identity, expiry: token.expiry))
    }
  }
}

extension UserToken {
  /// The token as it is kept.
  fileprivate var stored: [UInt8] {
    var children: [(Key, Node)] = [
      ("token", Node(.string(credential.token))), ("identity", Node(.string(identity))),
    ]
    if let expiry { children.append(("expiry", Node(.integer(expiry)))) }
    return Node(children: children).json()
  }

  /// Reads what was kept; nil when it is invalid.
  fileprivate init?(stored: [UInt8]) {
    guard let node = try? Node(json: stored), case .string(let token)? = node[Key("token")].leaf,
      case .string(let identity)? = node[Key("identity")].leaf, !identity.isEmpty
    else { return nil }
    var expiry: Int64?
    if case .integer(let number)? = node[Key("expiry")].leaf { expiry = number }
    self.init(Credential(token), identity: identity, expiry: expiry)
  }
}
