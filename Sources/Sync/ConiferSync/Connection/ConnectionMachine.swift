package import ConiferStorage
import ConiferWire

/// What a client does about its connection: when it connects, what it sends in which order, and what
/// becomes of what was not answered.
///
/// It has no effects: it is told what happens and when, and returns what is to be done. Its promises:
/// - There is never more than one connection. Delays between attempts follow the SDKs'.
/// - A token is shown first, and all else waits until the server has taken it. Then listens are
///   restored, and gets sent, then writes, transactions and onDisconnects leave in the order in which
///   they were issued.
/// - A token of the app, where there is a provider, is shown before that of the user, and nothing waits for the server's
///   answer. A provider that is slow or fails delays the connection by ten seconds at most.
/// - Each write is answered once, or reported as of unknown outcome and sent again, first, under the
///   same identity. At most `limits.window` writes wait for answers; the queue itself stays in the
///   store.
/// - When an answer is due and nothing comes, the server is asked for a sign of life. Without one the
///   connection is given up.
/// - The answer to a write is handed on when all listens that were sent before it came are
///   answered. At a purge, a change of user or a break it is handed on earlier, and marked if those
///   listens were to bring its data.
/// - A write that the server refuses because the token has expired is not refused: it is sent again
///   with the next token.
package struct ConnectionMachine: Sendable {
  /// What outlasts a connection.
  private var client: ClientState
  private var connector: Connector
  /// The earliest uptime at which a wake was asked for.
  private var scheduledWake: Milliseconds?
  /// What the owner was told last.
  private var reportedAuthentication: Authentication
  private var reportedIdentification: Identification

  /// A machine that waits for `.reasonEnded(.starting)`.
  ///
  /// - Parameters:
  ///   - namespace: the database's name on the server.
  ///   - lane: the queue of the user who was last signed in.
  ///   - newest: the newest number ever given in that lane.
  ///   - usesTokens: whether there is a token provider.
  ///   - token: the last token, as it was kept; the lane's.
  ///   - isChanging: whether somebody signed in or out since, and the provider has not said who.
  ///   - usesAppCheck: whether there is a provider of the app's own tokens.
  ///   - limits: times and sizes.
  ///   - seed: of the random part of delays.
  package init(
    namespace: String, lane: Lane, newest: WriteID?, usesTokens: Bool = false,
    token: UserToken? = nil, isChanging: Bool = false, usesAppCheck: Bool = false,
    limits: ConnectionLimits = ConnectionLimits(), seed: UInt64
  ) {
    connector = Connector(namespace: namespace)
    let own = token.flatMap { Lane(tree: lane.tree, identity: $0.identity) == lane ? $0 : nil }
    let auth = AuthMachine(limits, usesTokens: usesTokens, token: own, isChanging: isChanging)
    client = ClientState(
      limits, LanePositions(lane, newest: newest), auth,
      AppCheckMachine(limits, isUsed: usesAppCheck), Backoff(limits, seed: seed))
    reportedAuthentication = own == nil ? .signedOut : .pending
    reportedIdentification = auth.identification
  }

  /// The queue whose writes are sent, and that views show.
  package var lane: Lane { client.positions.lane }

  /// Whether it is known who is signed in.
  package var identification: Identification { client.auth.identification }

  /// Whether the token lets writes be sent.
  package var authentication: Authentication {
    if let problem = client.auth.problem { return .blocked(problem) }
    if client.auth.token == nil { return lane.identity.isEmpty ? .signedOut : .pending }
    return isWritable ? .authenticated : .pending
  }

  /// Whether there is a connection on which the server has said hello.
  package var isConnected: Bool { connector.session != nil }

  /// Whether operations can be sent.
  package var isWritable: Bool { connector.session?.pipeline.isAccepted ?? false }

  /// Whether the server has answered a write, and the answer waits for listens.
  package func isAnswerDeferred(_ id: OutboundWriteID) -> Bool {
    connector.session?.pipeline.isAnswerDeferred(id) ?? false
  }

  /// The position of something that is issued now, after all that was issued before; never given twice
  /// in a lane.
  package mutating func takePosition() -> LanePosition { client.positions.next() }

  /// The lane's newest write, unless it may have been sent, is being marked as sent, or something was
  /// issued after it. A write from an earlier run of the app may have been sent by that run.
  package var lastUnsent: OutboundWriteID? {
    guard let id = client.positions.lastUnsent, !isUnanswered(id) else { return nil }
    return client.sendBuffer.isBeingMarked(id) ? nil : id
  }

  /// Handles what happened.
  ///
  /// Actions are carried out in order; the owner may tell more before all are done.
  ///
  /// - Parameters:
  ///   - input: what happened.
  ///   - now: when; uptimes never go back.
  /// - Returns: what is to be done, in order.
  package mutating func handle(_ input: ConnectionInput, at now: ClockReading)
    -> [ConnectionAction]
  {
    client.now = now
    take(input)
    expireGets()
    if identification != reportedIdentification {
      reportedIdentification = identification
      client.actions.append(.identification(reportedIdentification))
    }
    if authentication != reportedAuthentication {
      reportedAuthentication = authentication
      client.actions.append(.authentication(reportedAuthentication))
    }
    scheduleWake()
    defer { client.actions = [] }
    return client.actions
  }

  private mutating func take(_ input: ConnectionInput) {
    switch input {
    case .reasonEnded(let reason): connector.reasonEnded(reason, &client)
    case .reasonBegan(let reason): connector.reasonBegan(reason, &client)
    case .networkReturned: connector.connectSooner(&client)
    case .event(let event, let number): receive(event, number)
    case .cannotProbe(let number):
      whileConnected { session, _ in
        if session.number == number { session.pipeline.liveness.cannotProbe() }
      }
    case .token(let answer, let fetch): take(answer, fetch)
    case .refreshToken: client.refreshToken()
    case .appToken(let answer, let fetch):
      if fetch == client.appCheck.newest { take(answer) }
    case .refreshAppToken: refreshAppToken()
    case .tick: tick()
    case .listen(let listen):
      guard client.listens.add(listen) else { break }
      whileConnected { session, client in session.pipeline.listen(listen, &client) }
    case .unlisten(let listen):
      guard client.listens.remove(listen) else { break }
      whileConnected { session, client in session.pipeline.unlisten(listen, &client) }
    case .write(let write): add(write)
    case .writes(let page, let lane, let after, let isLast):
      whileConnected { session, client in
        session.pipeline.add(page, of: lane, after: after, isLast: isLast, &client)
      }
    case .marked(let ids):
      client.sendBuffer.marked(ids)
      sendWaiting()
    case .notMarked(let ids): client.markingFailed(ids)
    case .withdraw(let id):
      client.sendBuffer.withdraw(id)
      sendWaiting()
    case .laneOpened(let newest): openLane(newest)
    case .get(let id, let target, let patience):
      client.gets.add(
        WaitingGet(id: id, target: target, issued: client.now.uptime, patience: patience))
      whileConnected { session, client in session.pipeline.sendGets(&client) }
    case .put(let put): issue(put)
    case .onDisconnect(let id, let request):
      client.issue(.onDisconnect(id, request), at: takePosition())
      sendWaiting()
    case .deliverAnswers:
      whileConnected { session, client in session.pipeline.deliverAllAnswers(&client) }
    case .giveUpOperations: giveUpOperations()
    case .purge: purge()
    }
  }

  // MARK: What the app issues, while connected and while not

  /// Takes in a write that the store holds.
  private mutating func add(_ write: OutboundWrite) {
    guard write.id.lane == lane else { return }
    let isNew = client.positions.isNew(write.id.number)
    client.positions.add(write.id.number)
    guard !isUnanswered(write.id) else { return }
    client.sendBuffer.add(write, isNew: isNew, limit: client.limits.window)
    sendWaiting()
  }

  /// Takes in a transaction's attempt. It names a hash of the data as it is now, and may be another
  /// user's when the next token is taken: it does not wait for a connection.
  private mutating func issue(_ put: TransactionPut) {
    guard isWritable else { return client.actions.append(.putReturned(put.id)) }
    client.issue(.put(put), at: put.position)
    sendWaiting()
  }

  /// Answers `laneChanged`: the lane's newest number is known, so its writes can be asked for.
  private mutating func openLane(_ newest: WriteID?) {
    client.openLane(newest)
    whileConnected { session, client in session.pipeline.askForWrites(&client) }
  }

  /// Gives up all that waits; the store's queue is emptied by the owner.
  private mutating func purge() {
    whileConnected { session, client in session.pipeline.forgetQueue(&client) }
    client.sendBuffer.purge()
    giveUpOperations()
  }

  private mutating func giveUpOperations() {
    whileConnected { session, client in session.pipeline.giveUpPuts(&client) }
    client.giveUpOperations(with: .writeCanceled)
    sendWaiting()
  }

  // MARK: The session

  private mutating func receive(_ event: TransportEvent, _ number: ConnectionNumber) {
    guard number == connector.number else { return }
    switch event {
    case .message(let message): receiveMessage(message)
    case .closed(let reason): connector.lost(reason, &client)
    }
  }

  private mutating func receiveMessage(_ message: ServerMessage) {
    switch message {
    case .hello(let hello): connector.greet(hello, &client)
    case .response, .push, .pong, .error, .unknown:
      if let logText = message.logText { client.log(logText) }
      whileConnected { session, client in session.receive(message, &client) }
    case .reset(let host): connector.redirect(to: host, &client)
    case .shutdown(let reason):
      connector.reasonBegan(.shutdown, &client)
      client.actions.append(.shutDown(reason))
    }
  }

  /// Changes the session, if there is one.
  private mutating func whileConnected(_ body: (inout Session, inout ClientState) -> Void) {
    connector.whileConnected(&client, body)
  }

  /// Sends what waits and may go.
  private mutating func sendWaiting() {
    whileConnected { session, client in session.pipeline.sendWaiting(&client) }
  }

  private func isUnanswered(_ id: OutboundWriteID) -> Bool {
    connector.session?.pipeline.isUnanswered(id) ?? false
  }

  // MARK: Who is signed in

  /// Takes in what the token provider said.
  private mutating func take(_ answer: TokenAnswer, _ fetch: UInt64) {
    guard client.auth.isCurrent(answer, to: fetch) else { return }
    client.auth.noteAnswer(answer, to: fetch)
    switch answer {
    case .token(let token): signIn(token)
    case .signedOut: signIn(nil)
    case .failed(let reason): connector.tokenFailed(reason, &client)
    }
    readAgain()
  }

  /// Takes in who is signed in; nil for nobody.
  private mutating func signIn(_ token: UserToken?) {
    let isSame = token == client.auth.token
    client.auth.take(token, at: client.now, offset: client.offset)
    let lane = Lane(tree: lane.tree, identity: token?.identity ?? "")
    if lane != self.lane {
      whileConnected { session, client in session.leaveLane(&client) }
      client.change(to: lane)
    } else if token == nil {
      client.actions.append(.keepToken(nil))
    }
    whileConnected { session, client in
      if !(isSame && session.pipeline.isAccepted) { session.pipeline.show(token, &client) }
    }
    connector.signedIn(&client)
  }

  /// Sends what waited to know who is signed in.
  private mutating func readAgain() {
    whileConnected { session, client in session.pipeline.readAgain(&client) }
  }

  // MARK: The app's own tokens

  /// Takes in what the provider of the app's tokens said.
  private mutating func take(_ answer: AppTokenAnswer) {
    switch answer {
    case .token(let token):
      client.appCheck.take(token, at: client.now, offset: client.offset)
      whileConnected { session, client in session.showAppToken(&client) }
    case .failed(let reason): client.appTokenFailed(reason)
    }
    connector.appTokenAnswered(&client)
  }

  /// The app has another token: a connection goes on under the old one until it is there.
  ///
  /// A provider that was forced may say so before it gives that token: it is not forced once more for that.
  private mutating func refreshAppToken() {
    guard !client.appCheck.isForcing else { return }
    client.appCheck.changed()
    if !connector.usesAppToken { client.appCheck.forget() }
    if connector.usesAppToken || client.appCheck.isFetching {
      client.fetchAppToken(isReplacing: true)
    }
  }

  // MARK: Time

  /// The timers, in the order in which they are checked.
  private enum Timer: CaseIterable {
    /// The token provider has taken too long to answer.
    case tokenTimeout
    /// The answer of the provider of the app's tokens must have been lost.
    case appTokenTimeout
    /// The token provider is asked again who is signed in.
    case identificationRetry
    /// The state of the connector ends.
    case connector
    case session
    /// A read has waited too long; `expireGets` looks at that after every input.
    case gets
  }

  private func time(of timer: Timer) -> Milliseconds? {
    switch timer {
    case .tokenTimeout: client.auth.answerDeadline
    case .appTokenTimeout: client.appCheck.answerDeadline
    case .identificationRetry: client.auth.identificationRetry
    case .connector: connector.deadline(client.limits)
    case .session: connector.session?.nextTick(client)
    case .gets: canRead ? nil : client.gets.deadline(client.limits.getTimeout)
    }
  }

  private mutating func fire(_ timer: Timer) {
    switch timer {
    case .tokenTimeout:
      connector.tokenFailed("It did not answer in time.", isTimeout: true, &client)
      readAgain()
    case .appTokenTimeout:
      client.appTokenFailed("It has not answered for too long.")
    case .identificationRetry: client.fetchToken(isConnected: isConnected)
    case .connector: connector.timedOut(&client)
    case .session: whileConnected { session, client in session.tick(&client) }
    case .gets: break
    }
  }

  /// Does what is due.
  private mutating func tick() {
    for timer in Timer.allCases {
      if let due = time(of: timer), due <= client.now.uptime { fire(timer) }
    }
  }

  /// The next uptime at which something is due.
  private var deadline: Milliseconds? { Timer.allCases.compactMap { time(of: $0) }.min() }

  /// Whether the server knows who reads.
  private var canRead: Bool { isWritable && !client.auth.isChanging }

  /// Ends reads that waited too long; all while the app is away, as nothing can come.
  private mutating func expireGets() {
    guard !canRead else { return }
    let ended =
      connector.isAway
      ? client.gets.removeAll()
      : client.gets.removeExpired(at: client.now.uptime, client.limits.getTimeout)
    for id in ended { client.actions.append(.getUnavailable(id)) }
  }

  /// Asks to be woken when something is due, unless an earlier wake was asked for.
  private mutating func scheduleWake() {
    if let scheduledWake, scheduledWake <= client.now.uptime { self.scheduledWake = nil }
    guard let deadline, scheduledWake.map({ deadline < $0 }) ?? true else { return }
    scheduledWake = deadline
    client.actions.append(.wake(at: deadline))
  }
}

extension ServerMessage {
  /// The text of a message that is only to be logged; nil for other messages.
  fileprivate var logText: String? {
    switch self {
    case .error(let text): "The server reports an error: \(text)"
    case .unknown(let words): "The server sends what this version does not know: \(words)"
    case .hello, .response, .push, .reset, .shutdown, .pong: nil
    }
  }
}
