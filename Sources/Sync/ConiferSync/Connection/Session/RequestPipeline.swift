import ConiferQuery
import ConiferStorage
import ConiferTree
import ConiferWire

/// The requests of one connection: when each leaves, which have no answer yet, and when an answer is handed on.
///
/// Until the server has accepted the token nothing else is sent but ends of listens and signs of life. Writes and operations
/// leave in the order in which they were issued.
struct RequestPipeline: Sendable {
  /// Whether the server knows who the client is.
  enum Admission {
    /// It has not said: the first token is being shown, or that of another user will be.
    case unknown
    /// The token was refused or revoked, or it has expired: until another one is taken nothing is asked for, and a
    /// `permission-denied` to what was sent before may be due to the token alone.
    case tokenInvalid
    /// It has taken the token, or there is none.
    case accepted
  }

  private var admission = Admission.unknown
  /// The last request that says who the client is, until it is answered.
  private var authRequest: UInt64?
  /// The requests that were sent and have not ended.
  private(set) var requests = OpenRequests()
  /// The requests by which the server was asked for listens.
  var sentListens: [Listen: UInt64] = [:]
  var liveness: Liveness

  /// That of a connection whose hello came at an uptime.
  init(at now: Milliseconds) { liveness = Liveness(at: now) }

  // MARK: Who the client is

  /// Whether the server knows who the client is.
  var isAccepted: Bool { if case .accepted = admission { true } else { false } }

  /// Whether the server was shown a token that it has not answered.
  var isShowingToken: Bool { authRequest != nil }

  /// Whether requests may leave. While a newer token is being shown they wait: a request that the server refused because
  /// of the old token is sent again first.
  var isOpen: Bool { isAccepted && !isShowingToken }

  /// Shows the server a token, or that nobody is signed in.
  mutating func show(_ token: UserToken?, _ client: inout ClientState) {
    let request: Request = token.map { .authenticate($0.credential) } ?? .unauthenticate
    authRequest = send(request, .authenticate(token), &client)
  }

  /// Takes in that a shown token was answered; returns whether it was the last one.
  mutating func tokenAnswered(_ number: UInt64) -> Bool {
    guard authRequest == number else { return false }
    authRequest = nil
    return true
  }

  /// The server knows who the client is: all that waited goes on.
  mutating func accept(_ client: inout ClientState) {
    admission = .accepted
    reportOtherLanes(&client)
    sendListens(&client)
    sendGets(&client)
    client.sendBuffer.restart()
    client.actions.append(.writable(true))
    askForWrites(&client)
  }

  /// Nothing is asked for from now on, until the server accepts the client.
  mutating func stop(_ admission: Admission, _ client: inout ClientState) {
    let wasAccepted = isAccepted
    self.admission = admission
    guard wasAccepted else { return }
    client.gets.block(at: client.now.uptime)
    client.actions.append(.writable(false))
    client.returnPuts()
  }

  /// Whether a refusal is due to the token only, so that the request counts as not sent.
  func isDueToToken(_ response: Response, _ auth: AuthMachine) -> Bool {
    switch response.status {
    case .expiredToken, .invalidToken: auth.token != nil
    case .permissionDenied: isTokenInvalid(auth)
    default: false
    }
  }

  /// Whether the token is invalid, so that the server may refuse what it otherwise allows.
  func isTokenInvalid(_ auth: AuthMachine) -> Bool {
    if case .tokenInvalid = admission { auth.token != nil } else { false }
  }

  // MARK: Requests

  /// Sends a request; its answer is waited for when something is to be done about it.
  @discardableResult
  mutating func send(_ request: Request, _ sent: Sent? = nil, _ client: inout ClientState) -> UInt64
  {
    let number = addRequest(sent, at: client.now.uptime)
    client.actions.append(.send(.request(number, request)))
    return number
  }

  /// Gives a number to a request that leaves.
  mutating func addRequest(_ sent: Sent?, at now: Milliseconds) -> UInt64 {
    liveness.sent(at: now)
    return requests.add(sent, at: now)
  }

  /// Takes out the request with a number, whose answer came; nil when none waits for it.
  mutating func takeUnanswered(_ number: UInt64) -> Sent? { requests.remove(number) }

  /// Takes in the answer to a request, but for that to a token.
  mutating func answered(
    _ sent: Sent, _ number: UInt64, _ response: Response, _ client: inout ClientState
  ) {
    switch sent {
    case .authenticate, .appCheck: break
    case .listen(let listen): listenAnswered(number, listen, response, &client)
    case .write(let write): writeAnswered(write, response, &client)
    case .operation(let operation): operationAnswered(operation, response, &client)
    case .get(let get): getAnswered(get, response, &client)
    }
  }

  /// The connection ended: what was not answered waits again, or is reported.
  mutating func end(_ client: inout ClientState) {
    client.actions.append(.connected(false))
    stop(.unknown, &client)
    deliverAllAnswers(&client)
    client.auth.tokenForgotten(at: client.now.uptime)
    for sent in requests.removeAll() {
      switch sent {
      case .write(let write): client.actions.append(.writeOutcomeUnknown(write.id))
      case .operation(let operation): client.giveUp(operation, with: .disconnect)
      case .get(let get): client.gets.add(get)
      case .listen, .authenticate, .appCheck: break
      }
    }
  }
}

// MARK: Writes and operations, in order

extension RequestPipeline {
  /// Whether a write was sent and not answered.
  func isUnanswered(_ id: OutboundWriteID) -> Bool { requests.isUnanswered(id) }

  /// Whether the server has answered a write, and the answer waits for listens.
  func isAnswerDeferred(_ id: OutboundWriteID) -> Bool { requests.isAnswerDeferred(id) }

  /// Asks for the next writes where there is room for them.
  mutating func askForWrites(_ client: inout ClientState) {
    guard isAccepted, client.positions.isOpen else { return }
    if let (after, count) = client.sendBuffer.ask(limit: client.limits.window) {
      client.actions.append(.needWrites(client.positions.lane, after: after, limit: count))
    }
  }

  /// Takes in the next writes.
  mutating func add(
    _ page: [OutboundWrite], of lane: Lane, after: WriteID?, isLast: Bool,
    _ client: inout ClientState
  ) {
    guard isAccepted, lane == client.positions.lane, client.sendBuffer.isAsking(after: after) else {
      return
    }
    client.sendBuffer.add(page, isLast: isLast) { requests.contains($0) }
    sendWaiting(&client)
  }

  /// Sends what may go: the queue's writes and what was issued beside them, in order.
  mutating func sendWaiting(_ client: inout ClientState) {
    sendGets(&client)
    while isOpen, client.positions.isOpen {
      if let next = client.operations.first, client.sendBuffer.isPast(next.position.number) {
        guard requests.hasRoom(next.size, client.limits) else { break }
        client.operations.popFirst()
        send(next, &client)
      } else if let write = client.sendBuffer.first {
        guard requests.hasRoom(write.size, client.limits) else { break }
        guard write.mayLeave else {
          let ids = client.sendBuffer.markWaiting(at: client.now.uptime)
          if !ids.isEmpty { client.actions.append(.markSent(ids)) }
          break
        }
        client.sendBuffer.removeFirst()
        client.positions.sent(write.id.number)
        send(Request(write.content), .write(write), &client)
        client.actions.append(.writeSent(write.id))
      } else {
        break
      }
    }
    askForWrites(&client)
  }

  private mutating func writeAnswered(
    _ write: OutboundWrite, _ response: Response, _ client: inout ClientState
  ) {
    if isDueToToken(response, client.auth) {
      // It is sent again as soon as a token is taken, unless it is another user's by then.
      return client.actions.append(.writeReturned(write.id))
    }
    deliver(.write(write.id, write.content.changes.map(\.path)), response, &client)
  }

  /// Reports the writes of other lanes as of unknown outcome: they are not sent on this lane's
  /// connection again.
  private mutating func reportOtherLanes(_ client: inout ClientState) {
    let lane = client.positions.lane
    let others = requests.removeAll { $0.write.map { $0.id.lane != lane } ?? false }
    for case .write(let write) in others { client.actions.append(.writeOutcomeUnknown(write.id)) }
  }

  // MARK: Operations

  private mutating func send(_ operation: Operation, _ client: inout ClientState) {
    let request: Request
    switch operation.kind {
    case .put(let put): request = .put(put.path, put.node, hash: put.hash)
    case .onDisconnect(_, let disconnect): request = disconnect.request
    }
    send(request, .operation(operation), &client)
  }

  private mutating func operationAnswered(
    _ operation: Operation, _ response: Response, _ client: inout ClientState
  ) {
    let mustRepeat = isDueToToken(response, client.auth)
    switch operation.kind {
    case .put(let put) where mustRepeat: client.actions.append(.putReturned(put.id))
    case .put(let put): deliver(.put(put.id, put.path), response, &client)
    case .onDisconnect where mustRepeat && operation.lane != client.positions.lane:
      client.giveUp(operation, with: .identityChanged)
    case .onDisconnect where mustRepeat: client.insert(operation)
    case .onDisconnect(let id, _):
      client.actions.append(.onDisconnectAnswered(id, response))
    }
  }

  /// Forgets all that was sent and not answered of the lane's queue.
  mutating func forgetQueue(_ client: inout ClientState) {
    reportOtherLanes(&client)
    _ = requests.removeAll { $0.write != nil }
  }

  /// Gives up the puts that were sent and not answered.
  mutating func giveUpPuts(_ client: inout ClientState) {
    let puts = requests.removeAll {
      if case .operation(let operation) = $0, case .put = operation.kind { true } else { false }
    }
    for case .operation(let operation) in puts { client.giveUp(operation, with: .writeCanceled) }
  }
}

// MARK: Answers that wait for listens

extension RequestPipeline {
  /// Hands an answer on when the listens that were sent until now are answered, which may be at once.
  private mutating func deliver(
    _ subject: DeferredAnswer.Subject, _ response: Response, _ client: inout ClientState
  ) {
    requests.addAnswer(response, to: subject)
    deliverAnswers(&client)
  }

  /// Hands on the answers that wait for nothing more, in the order in which they came.
  mutating func deliverAnswers(_ client: inout ClientState) {
    while let answer = requests.popAnswer() { client.actions.append(answer.action) }
  }

  /// Hands on all answers, marked where the data that they wait for has not come.
  mutating func deliverAllAnswers(_ client: inout ClientState) {
    while let answer = requests.popAnswer(isEarly: true) { client.actions.append(answer.action) }
  }
}
