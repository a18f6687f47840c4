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
/// - Each write is answered once, or reported as of unknown outcome and sent again, first, under the
///   same identity. At most `limits.window` writes wait for answers; the queue itself stays in the
///   store.
/// - When an answer is due and nothing comes, the server is asked for a sign of life. Without one the
///   connection is given up.
/// - The answer to a write is handed on when all listens that were sent before it came are answered.
/// - A write that the server refuses because the token has expired is not refused: it is sent again
///   with the next token.
package struct ConnectionMachine: Sendable {
  /// What the client does about its connection now.
  enum State: Sendable {
    /// There are reasons not to connect, at least one.
    case closed(Set<CloseReason>)
    /// The next attempt waits for an uptime.
    case waiting(until: Milliseconds)
    /// The token provider is asked before connecting.
    case fetchingToken
    /// The server's hello is waited for.
    case connecting(ConnectionNumber, since: Milliseconds)
    /// The server has said hello.
    case connected(Session)
  }

  let namespace: String
  var state = State.closed([.starting])
  /// What outlasts a connection.
  var client: ClientState
  var route = ServerRoute()
  /// The earliest uptime at which a wake was asked for.
  private var scheduledWake: Milliseconds?
  /// What the owner was told last.
  private var reportedAuthentication: Authentication
  private var reportedIdentification: Identification

  /// A machine that waits for `.open(.starting)`.
  ///
  /// - Parameters:
  ///   - namespace: the database's name on the server.
  ///   - lane: the queue of the user who was last signed in.
  ///   - newest: the newest number ever given in that lane.
  ///   - usesTokens: whether there is a token provider.
  ///   - token: the last token, as it was kept; the lane's.
  ///   - isChanging: whether somebody signed in or out since, and the provider has not said who.
  ///   - limits: times and sizes.
  ///   - seed: of the random part of delays.
  package init(
    namespace: String, lane: Lane, newest: WriteID?, usesTokens: Bool = false,
    token: UserToken? = nil, isChanging: Bool = false,
    limits: ConnectionLimits = ConnectionLimits(), seed: UInt64
  ) {
    self.namespace = namespace
    let own = token.flatMap { Lane(tree: lane.tree, identity: $0.identity) == lane ? $0 : nil }
    let auth = AuthMachine(limits, usesTokens: usesTokens, token: own, isChanging: isChanging)
    client = ClientState(
      limits, LanePositions(lane, newest: newest), auth, Backoff(limits, seed: seed))
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
  package var isConnected: Bool { if case .connected = state { true } else { false } }

  /// Whether operations can be sent.
  package var isWritable: Bool {
    if case .connected(let session) = state { session.isAccepted } else { false }
  }

  /// Whether the server has answered a write, though the store may still show it as waiting.
  package func isAnswered(_ id: OutboundWriteID) -> Bool { client.sendBuffer.isAnswered(id) }

  /// The position of something that is issued now, after all that was issued before; never given twice
  /// in a lane.
  package mutating func nextPosition() -> OverlayID { client.positions.next() }

  /// The lane's newest write, unless it may have been sent, is being marked as sent, or something was
  /// issued after it. A write from an earlier run of the app may have been sent by that run.
  package var lastUnsent: OutboundWriteID? {
    guard let id = client.positions.lastUnsent, !isUnanswered(id) else { return nil }
    return client.sendBuffer.isAnswered(id) || client.sendBuffer.isBeingMarked(id) ? nil : id
  }

  /// Handles what happened.
  ///
  /// All actions are done before the next call; what they bring about is told after them, in order.
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
    case .open(let reason): open(reason)
    case .close(let reason): close(reason)
    case .networkReturned: connectSooner()
    case .event(let event, let number): receive(event, number)
    case .cannotProbe(let number):
      whileConnected { session, _ in if session.number == number { session.probe = .impossible } }
    case .token(let answer, let fetch): take(answer, fetch)
    case .refreshToken: client.refreshToken()
    case .tick: tick()
    case .listen(let listen):
      guard client.listens.add(listen) else { break }
      whileConnected { session, client in session.listen(listen, &client) }
    case .unlisten(let listen):
      guard client.listens.remove(listen) else { break }
      whileConnected { session, client in session.unlisten(listen, &client) }
    case .write(let write): add(write)
    case .writes(let page, let lane, let after, let isLast):
      whileConnected { session, client in
        session.add(page, of: lane, after: after, isLast: isLast, &client)
      }
    case .marked(let ids):
      client.sendBuffer.marked(ids)
      sendWaiting()
    case .notMarked(let ids): client.markingFailed(ids)
    case .withdraw(let id):
      client.sendBuffer.withdraw(id)
      whileConnected { session, client in session.withdraw(id, &client) }
    case .superseded(let id): client.sendBuffer.supersede(id)
    case .finished(let id): client.sendBuffer.finished(id)
    case .laneOpened(let newest): openLane(newest)
    case .get(let id, let target):
      client.gets.add(WaitingGet(id: id, target: target, issued: client.now.uptime))
      whileConnected { session, client in session.sendGets(&client) }
    case .put(let put): issue(put)
    case .onDisconnect(let id, let request):
      client.issue(.onDisconnect(id, request), at: nextPosition())
      sendWaiting()
    case .purge: purge()
    }
  }

  // MARK: What the app issues, while connected and while not

  /// Takes in a write that the store holds.
  mutating func add(_ write: OutboundWrite) {
    guard write.id.lane == lane else { return }
    let isNew = client.positions.isNew(write.id.id)
    client.positions.add(write.id.id)
    guard !isUnanswered(write.id) else { return }
    client.sendBuffer.add(write, isNew: isNew, limit: client.limits.window)
    sendWaiting()
  }

  /// Takes in a transaction's attempt. It names a hash of the data as it is now, and may be another
  /// user's when the next token is taken: it does not wait for a connection.
  mutating func issue(_ put: TransactionPut) {
    guard isWritable else { return client.actions.append(.putReturned(put.id)) }
    client.issue(.put(put), at: put.position)
    sendWaiting()
  }

  /// Answers `laneChanged`: the lane's newest number is known, so its writes can be asked for.
  mutating func openLane(_ newest: WriteID?) {
    client.openLane(newest)
    whileConnected { session, client in session.askForWrites(&client) }
  }

  /// Gives up all that waits; the store's queue is emptied by the owner.
  mutating func purge() {
    whileConnected { session, client in session.purge(&client) }
    client.sendBuffer.purge()
    client.giveUpOperations(with: .writeCanceled)
    sendWaiting()
  }

  // MARK: What a connection brings

  mutating func receive(_ event: TransportEvent, _ number: ConnectionNumber) {
    guard number == connectionNumber else { return }
    switch event {
    case .message(let message): receive(message, number)
    case .closed(let reason):
      client.log("The connection ended: \(reason)")
      endConnection(isClosed: true)
      connectLater()
    }
  }

  /// The number of the connection or of the attempt.
  private var connectionNumber: ConnectionNumber? {
    switch state {
    case .closed, .waiting, .fetchingToken: nil
    case .connecting(let number, _): number
    case .connected(let session): session.number
    }
  }

  private mutating func receive(_ message: ServerMessage, _ number: ConnectionNumber) {
    switch message {
    case .hello(let hello): greet(hello, number)
    case .response, .push, .pong, .error, .unknown:
      if let complaint = message.complaint { client.log(complaint) }
      whileConnected { session, client in session.receive(message, &client) }
    case .reset(let host): redirect(to: host)
    case .shutdown(let reason):
      close(.shutdown)
      client.actions.append(.shutDown(reason))
    }
  }

  // MARK: The session

  /// Changes the session, if there is one. It is taken out of the state meanwhile, so that it has one owner
  /// and is changed without being copied.
  mutating func whileConnected(_ body: (inout Session, inout ClientState) -> Void) {
    guard case .connected(var session) = state else { return }
    state = .closed([])
    body(&session, &client)
    state = .connected(session)
  }

  /// Sends what waits and may go.
  mutating func sendWaiting() {
    whileConnected { session, client in session.sendWaiting(&client) }
  }

  func isUnanswered(_ id: OutboundWriteID) -> Bool {
    if case .connected(let session) = state { session.unanswered.contains(id) } else { false }
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
  /// What of a message is for a log alone.
  fileprivate var complaint: String? {
    switch self {
    case .error(let text): "The server reports an error: \(text)"
    case .unknown(let words): "The server sends what this version does not know: \(words)"
    case .hello, .response, .push, .reset, .shutdown, .pong: nil
    }
  }
}
