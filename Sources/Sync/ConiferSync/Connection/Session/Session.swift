import ConiferQuery
import ConiferStorage
import ConiferWire

/// One connection from the server's hello to its end: what was sent and not answered, and whether the
/// server has accepted the client's token.
struct Session: Sendable {
  /// Whether the server has accepted who the client says it is.
  enum TokenState {
    /// It has not answered yet.
    case unknown
    /// It refused or revoked the token: that may be why it refuses other requests.
    case refused
    /// It knows the client.
    case accepted
  }

  let number: ConnectionNumber
  /// The uptime of its hello.
  let opened: Milliseconds
  var liveness: Liveness
  var tokenState = TokenState.unknown
  /// The last request that says who the client is, until it is answered.
  var authRequest: UInt64?
  /// The last request's number.
  private(set) var lastRequest: UInt64 = 0
  /// The requests without an answer.
  var unanswered = Unanswered()
  /// The requests by which the server was asked for listens.
  var sentListens: [Listen: UInt64] = [:]
  /// Answers that wait for those of the listens that were sent before they came.
  var deferred = DeferredAnswers()

  /// A connection whose hello came; shows the token, if there is one.
  init(_ number: ConnectionNumber, _ client: inout ClientState) {
    self.number = number
    opened = client.now.uptime
    liveness = Liveness(at: opened)
    if let token = client.auth.token {
      authenticate(token, &client)
    } else {
      accept(&client)
    }
  }

  /// Whether the server knows who the client is.
  var isAccepted: Bool { if case .accepted = tokenState { true } else { false } }
  var isRefused: Bool { if case .refused = tokenState { true } else { false } }

  // MARK: Messages

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
    lastRequest += 1
    liveness.sent(at: now)
    if let sent { unanswered.add(lastRequest, sent, at: now) }
    return lastRequest
  }

  /// Takes in what the server says but for the hello, and what ends the connection.
  mutating func receive(_ message: ServerMessage, _ client: inout ClientState) {
    liveness.received(at: client.now.uptime)
    switch message {
    case .response(let number, let response): receiveResponse(response, to: number, &client)
    case .push(let push): receivePush(push, &client)
    case .hello, .pong, .reset, .shutdown, .error, .unknown: break
    }
  }

  private mutating func receiveResponse(
    _ response: Response, to number: UInt64, _ client: inout ClientState
  ) {
    guard let sent = unanswered.remove(number) else { return }
    if case .authenticate(let token) = sent {
      authenticationAnswered(number, token, response, &client)
    } else {
      noteTokenRefusal(response, &client)
      requestAnswered(sent, number, response, &client)
      if isAccepted, authRequest == nil { client.auth.requestServed() }
    }
    sendWaiting(&client)
  }

  private mutating func requestAnswered(
    _ sent: Sent, _ number: UInt64, _ response: Response, _ client: inout ClientState
  ) {
    switch sent {
    case .authenticate: break
    case .listen(let listen): listenAnswered(number, listen, response, &client)
    case .write(let write): writeAnswered(write, response, &client)
    case .operation(let operation): operationAnswered(operation, response, &client)
    case .get(let get): getAnswered(get, response, &client)
    }
  }

  private mutating func receivePush(_ push: Push, _ client: inout ClientState) {
    switch push {
    case .overwrite(let path, let node, let tag):
      client.actions.append(.updated(.overwrite(path, node, tag: tag)))
    case .merge(let path, let changes, let tag):
      client.actions.append(.updated(.merge(path, changes, tag: tag)))
    case .rangeMerge(let path, let ranges, let tag):
      client.actions.append(.updated(.rangeMerge(path, ranges, tag: tag)))
    case .listenRevoked(let path, let spec): revoke(path, spec, &client)
    case .authRevoked(let status, let reason):
      guard client.auth.token != nil else { break }
      tokenRevoked(status, reason, &client)
    case .appCheckRevoked(let status, let reason):
      client.log("The server does not take the app's token: \(status) \(reason)")
    case .debug(let words): client.log("The server says: \(words)")
    }
  }

  // MARK: The end

  /// The connection ended: what was not answered waits again, or is reported.
  mutating func end(_ client: inout ClientState) {
    markMissingData()
    client.actions.append(.connected(false))
    if isAccepted { stopSending(&client) }
    deliverAnswers(all: true, &client)
    client.auth.tokenForgotten(at: client.now.uptime)
    for sent in unanswered.removeAll() {
      switch sent {
      case .write(let write): client.actions.append(.writeOutcomeUnknown(write.id))
      case .operation(let operation): client.giveUp(operation, with: .disconnect)
      case .get(let get): client.gets.add(get)
      case .listen, .authenticate: break
      }
    }
    client.sendBuffer.restart()
  }

  /// Nothing is sent from now on.
  mutating func stopSending(_ client: inout ClientState) {
    client.gets.block(at: client.now.uptime)
    client.actions.append(.writable(false))
    client.returnPuts()
  }
}

/// A request that was sent on a connection.
enum Sent: Sendable {
  case write(OutboundWrite)
  case operation(Operation)
  case get(WaitingGet)
  case listen(Listen)
  case authenticate(UserToken?)

  /// The bytes that count in the window of unanswered writes; nil when it does not count.
  var size: Int? {
    switch self {
    case .write(let write): return write.size
    case .operation(let operation): return operation.size
    case .get, .listen, .authenticate: return nil
    }
  }

  /// Whether data comes in answer.
  var isReading: Bool {
    switch self {
    case .get, .listen: return true
    case .write, .operation, .authenticate: return false
    }
  }

  /// The queued write, if it is one.
  var write: OutboundWrite? {
    if case .write(let write) = self { return write }
    return nil
  }
}

/// The requests of one connection that have no answer yet.
struct Unanswered: Sendable {
  private var requests: [UInt64: Sent] = [:]
  /// All numbers in order with the time of sending; answered ones are dropped at the front.
  private var times = FIFO<(number: UInt64, time: Milliseconds)>()
  /// The numbers of listens in order; answered ones are dropped at the front.
  private var listens = FIFO<UInt64>()
  /// The writes.
  private var writes: Set<OutboundWriteID> = []
  /// How many writes and puts there are.
  private(set) var windowCount = 0
  /// How many bytes they have.
  private(set) var windowBytes = 0
  /// How many listens and gets there are.
  private(set) var readingCount = 0

  /// When the oldest request was sent.
  var oldest: Milliseconds? { times.first?.time }
  /// The oldest listen.
  var oldestListen: UInt64? { listens.first }

  mutating func add(_ number: UInt64, _ sent: Sent, at time: Milliseconds) {
    requests[number] = sent
    if let write = sent.write { writes.insert(write.id) }
    times.append((number: number, time: time))
    if case .listen = sent { listens.append(number) }
    count(sent, 1)
  }

  mutating func remove(_ number: UInt64) -> Sent? {
    guard let sent = requests.removeValue(forKey: number) else { return nil }
    if let write = sent.write { writes.remove(write.id) }
    count(sent, -1)
    while let first = times.first, requests[first.number] == nil { times.popFirst() }
    while let first = listens.first, requests[first] == nil { listens.popFirst() }
    return sent
  }

  /// Takes out all requests that a test picks, in the order of sending.
  mutating func removeAll(where isWanted: (Sent) -> Bool = { _ in true }) -> [Sent] {
    let numbers = requests.filter { isWanted($0.value) }.keys.sorted()
    return numbers.compactMap { remove($0) }
  }

  /// Whether a write was sent and not answered.
  func contains(_ id: OutboundWriteID) -> Bool { writes.contains(id) }

  /// The listens with their numbers.
  var listenTargets: [(number: UInt64, target: QueryTarget)] {
    listens.all.compactMap { number in
      if case .listen(let listen)? = requests[number] { (number, listen.target) } else { nil }
    }
  }

  private mutating func count(_ sent: Sent, _ step: Int) {
    if let size = sent.size {
      windowCount += step
      windowBytes += step * size
    }
    if sent.isReading { readingCount += step }
  }
}
