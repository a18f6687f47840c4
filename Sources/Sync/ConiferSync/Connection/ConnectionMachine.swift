public import ConiferStorage
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
/// - Where an answer is due and nothing comes, the server is asked for a sign of life, and a connection
///   that gives none is given up.
/// - Answers of writes are handed on when the listens that were sent before them are answered.
/// - A write that the server refuses because the token's time is over is not refused: it is sent
///   again with the next token.
public struct ConnectionMachine: Sendable {
  enum Phase: Sendable {
    /// A reason keeps the client away.
    case idle
    /// The next attempt waits for an uptime.
    case waiting(until: Milliseconds)
    /// The token provider is asked before connecting.
    case fetching
    /// The server's hello is waited for.
    case connecting(ConnectionNumber, since: Milliseconds)
    /// There is a session.
    case connected
  }

  /// Whether the store can hold that writes are sent.
  enum Marking: Sendable {
    case possible
    /// It could not, so often in a row; the next attempt waits for an uptime, or for an occasion.
    case failed(Int, retry: Milliseconds?)

    var failures: Int { if case .failed(let count, _) = self { count } else { 0 } }
    var retry: Milliseconds? { if case .failed(_, let retry) = self { retry } else { nil } }
  }

  /// What is known of a listen that the app has.
  struct ListenEntry: Sendable {
    /// Its place among all listens.
    let order: UInt64
    /// The connection and the request by which the server was asked.
    var asked: (connection: ConnectionNumber, request: UInt64)?
  }

  let namespace: String
  let limits: ConnectionLimits
  var backoff: Backoff
  var auth: AuthMachine
  var closeReasons: Set<CloseReason> = [.starting]
  var phase = Phase.idle
  var session: Session?
  var lastConnection: UInt64 = 0
  /// Whether the server sent the client to another host since a connection stood for long.
  var wasReset = false
  /// The host that the server named.
  var host: String?
  var lastSession: String?

  /// The queue whose writes are sent, and that views show.
  public internal(set) var lane: Lane
  /// Whether the lane's newest number is known.
  var isLaneOpen = true
  /// The newest number of the lane, and how much was issued since.
  var newest: UInt64
  var step: UInt64 = 0
  /// Up to which number writes may have been sent, by this run or one before.
  var perhapsSent: UInt64

  var listens: [Listen: ListenEntry] = [:]
  var lastListen: UInt64 = 0
  var queue = OutboundQueue()
  var marking = Marking.possible
  var operations = FIFO<Operation>()
  var gets = FIFO<WaitingGet>()
  var held = FIFO<HeldAnswer>()
  /// Since when nothing can be read.
  var unreadableSince = Milliseconds.min

  var now = Moment(uptime: 0, wallTime: 0)
  var scheduled: Milliseconds?
  var toldAuthState: AuthState
  var toldIdentification: Identification
  var actions: [ConnectionAction] = []

  /// The server's time minus the device's, in milliseconds; 0 before the first hello.
  public internal(set) var offset: Int64 = 0

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
  ///   - seed: of the chance in delays.
  public init(
    namespace: String, lane: Lane, newest: WriteID?, usesTokens: Bool = false,
    token: AuthToken? = nil, isChanging: Bool = false,
    limits: ConnectionLimits = ConnectionLimits(), seed: UInt64
  ) {
    self.namespace = namespace
    self.limits = limits
    self.lane = lane
    self.newest = newest?.rawValue ?? 0
    perhapsSent = self.newest
    backoff = Backoff(limits, seed: seed)
    let own = token.flatMap { Lane(tree: lane.tree, identity: $0.identity) == lane ? $0 : nil }
    auth = AuthMachine(
      limits, usesTokens: usesTokens, token: own, isChanging: isChanging)
    toldAuthState = own == nil ? .signedOut : .pending
    toldIdentification = auth.identification
  }

  /// Whether it is known who is signed in.
  public var identification: Identification { auth.identification }

  /// The state of authentication.
  public var authState: AuthState {
    if let trouble = auth.trouble { return trouble }
    if let reason = auth.unanswered { return .unavailable(reason) }
    if auth.token == nil { return lane.identity.isEmpty ? .signedOut : .pending }
    return session?.isAccepted == true ? .authenticated : .pending
  }

  /// Whether the connection stands.
  public var isConnected: Bool { session != nil }

  /// Whether operations go out.
  public var isWritable: Bool { session?.isAccepted == true }

  /// Whether the server has answered a write, though the store may still show it as waiting.
  public func isAnswered(_ id: OutboundWriteID) -> Bool { queue.isAnswered(id) }

  /// The place of something that is issued now, after all that was issued before; never given twice
  /// in a lane.
  public mutating func nextPlace() -> OverlayID {
    step += 1
    return OverlayID(newest, step)
  }

  /// The lane's newest write, unless it may have been sent, is about to be marked as sent, or something
  /// was issued after it. What a run before queued may have been sent by it: the store does not tell.
  public var lastUnsent: OutboundWriteID? {
    guard isLaneOpen, step == 0, newest > perhapsSent else { return nil }
    let id = OutboundWriteID(lane, WriteID(rawValue: newest))
    let isTaken = session?.unanswered.contains(id) == true || queue.isTaken(id)
    return isTaken ? nil : id
  }

  /// Takes in what happened.
  ///
  /// All actions are done before the next call; what they bring about is told after them, in order.
  ///
  /// - Parameters:
  ///   - input: what happened.
  ///   - now: when; uptimes never go back.
  /// - Returns: what is to be done, in order.
  public mutating func handle(_ input: ConnectionInput, at now: Moment) -> [ConnectionAction] {
    self.now = now
    take(input)
    expireGets()
    if identification != toldIdentification {
      toldIdentification = identification
      actions.append(.identification(toldIdentification))
    }
    if authState != toldAuthState {
      toldAuthState = authState
      actions.append(.authState(toldAuthState))
    }
    schedule()
    defer { actions = [] }
    return actions
  }

  private mutating func take(_ input: ConnectionInput) {
    switch input {
    case .open(let reason): open(reason)
    case .close(let reason): close(reason)
    case .networkReturned: connectSooner()
    case .event(let event, let number): receive(event, number)
    case .token(let answer, let fetch): take(answer, fetch)
    case .refreshToken: refreshToken()
    case .tick: tick()
    case .listen(let listen): add(listen)
    case .unlisten(let listen): remove(listen)
    case .write(let write): add(write)
    case .writes(let page, let lane, let after, let isLast):
      add(page, of: lane, after: after, isLast: isLast)
    case .marked(let ids): marked(ids)
    case .notMarked(let ids): notMarked(ids)
    case .withdraw(let id): withdraw(id)
    case .superseded(let id): queue.supersede(id)
    case .finished(let id): queue.noteFinished(id)
    case .laneOpened(let newest): laneOpened(newest)
    case .get(let id, let target): get(id, target)
    case .cannotProbe(let number): session?.cannotProbe(number)
    case .put(let put): issue(.put(put), at: put.place)
    case .onDisconnect(let id, let request): issue(.onDisconnect(id, request), at: nextPlace())
    case .purge: purge()
    }
  }
}
