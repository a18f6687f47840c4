import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Logging
import Synchronization

/// The engine's end of the connection: the machine that decides, what it asked for and is not done
/// yet, and the connection there is.
struct Link: Sendable {
  var machine: ConnectionMachine?
  var connection: (any TransportConnection)?
  var number: ConnectionNumber?
  /// What tells that the network has returned.
  var watch: (any NetworkWatch)?
  /// How many of the connection's messages are done with, and not yet given back as credit.
  private var handled = 0
  private var actions: [ConnectionAction] = []

  /// Whether something is left to do.
  var hasActions: Bool { !actions.isEmpty }

  mutating func add(_ more: [ConnectionAction]) { actions.append(contentsOf: more) }

  /// Takes what is to be done; what is not done is to be given back.
  mutating func take() -> [ConnectionAction] {
    defer { actions = [] }
    return actions
  }

  /// The most messages of a server that came and are not done with.
  static let credit = 256

  /// A new connection takes the place of the one before.
  mutating func begin(_ number: ConnectionNumber) {
    connection?.close()
    self.number = number
    handled = 0
  }

  /// Notes that a message of a connection was taken in.
  mutating func note(_ event: TransportEvent, of number: ConnectionNumber) {
    guard number == self.number, case .message(let message) = event else { return }
    if MessageCredit.counts(message) { handled += 1 }
  }

  /// Lets as many messages come as are done with; not for each one alone.
  mutating func grantCredit() {
    guard handled >= Self.credit / 4 else { return }
    connection?.grantCredit(handled)
    handled = 0
  }

  mutating func giveBack(_ rest: ArraySlice<ConnectionAction>) {
    actions.insert(contentsOf: rest, at: 0)
  }
}

extension Engine {
  /// Both clocks.
  var moment: ClockReading { ClockReading(uptime: setup.clock.now, wallTime: setup.clock.wallTime) }

  /// Tells the connection's machine something; what it asks for is done before the step ends.
  func tell(_ input: ConnectionInput) {
    guard link.machine != nil else { return }
    let now = moment
    link.add(link.machine?.handle(input, at: now) ?? [])
  }

  /// Does what the connection's machine asks for, up to something that must see what waits for its
  /// commit, or be told behind it.
  func runActions() {
    while link.hasActions {
      let actions = link.take()
      for (index, action) in actions.enumerated() {
        if endsCommit || !action.joinsCommit, !units.isEmpty || writes.unqueuedCount > 0 {
          link.giveBack(actions[index...])
          return
        }
        act(action)
      }
    }
  }

  func act(_ action: ConnectionAction) {
    switch action {
    case .connect(let request, let number): connect(request, number)
    case .disconnect(let number): disconnect(number)
    case .probe(let number):
      if link.connection?.probe() != true { tell(.cannotProbe(number)) }
    case .send(let message): link.connection?.send(message)
    case .sendListen(let number, let listen): send(listen, as: number)
    case .fetchToken(let force, let number): fetchToken(force: force, number)
    case .wake(let moment): wake(at: moment)
    case .connected(let isConnected): connected(isConnected)
    case .offset(let milliseconds): setOffset(milliseconds)
    case .writable(let isWritable): writable(isWritable)
    case .shutDown(let reason):
      setup.logger.warning("the server sent the client away", metadata: ["reason": "\(reason)"])
    case .log(let words): setup.logger.debug("\(words)")
    case .identification(let identification):
      identify(identification)
      storeChange(identification != .known)
    case .authentication(let state): setAuthState(state)
    case .laneChanged(let lane): changeLane(lane)
    case .keepToken(let token): keep(token)
    case .listenAnswered(let listen, let response): answered(listen, response)
    case .listenRevoked(let listen):
      let what = "The server ended the listener at \(listen.target)"
      cancel(listen.target, DatabaseError(.permissionDenied, reason: nil, what))
    case .pushed(let push): pushed(push)
    case .needWrites(let lane, let after, let limit): giveWrites(lane, after, limit)
    case .markSent(let ids): markSent(ids)
    case .writeSent(let id): writes.sent(id)
    case .writeAnswered(let id, let response, let isEarly): answered(id, response, isEarly)
    case .writeOutcomeUnknown(let id): outcomeUnknown(id)
    case .writeReturned(let id): returned(id)
    case .getAnswered(let id, let response): getAnswered(id, response)
    case .getUnavailable(let id): getUnavailable(id)
    case .putAnswered(let id, let response, let isEarly): putAnswered(id, response, isEarly)
    case .putReturned(let id): putReturned(id)
    case .onDisconnectAnswered(let id, let response): onDisconnectAnswered(id, response)
    }
  }

  // MARK: The connection

  private func connect(_ request: ConnectionRequest, _ number: ConnectionNumber) {
    link.begin(number)
    guard let transport = setup.transport else { return }
    var request = request
    request.credit = Link.credit
    link.connection = transport.connect(request) { [weak self] event in
      self?.post(.event(number, event))
    }
  }

  private func disconnect(_ number: ConnectionNumber) {
    guard link.number == number else { return }
    link.connection?.close()
    link.connection = nil
  }

  private func wake(at moment: Milliseconds) {
    setup.clock.wake(at: moment) { [weak self] in self?.post(.tick) }
  }

  private func connected(_ isConnected: Bool) {
    self.isConnected.set(isConnected)
    raise(info.set(.connected, Node(.bool(isConnected))))
    if isConnected { listenToPins() }
  }

  private func setOffset(_ milliseconds: Int64) {
    offset.store(milliseconds, ordering: .relaxed)
    raise(info.set(.serverTimeOffset, Node(.double(Double(milliseconds)))))
  }

  // MARK: Listens

  private func send(_ listen: Listen, as number: UInt64) {
    let data = tree.serverData(of: listen.target)?.node ?? .empty
    let known = active[listen.target]?.hash.flatMap { $0.node.isIdentical(to: data) ? $0 : nil }
    let hash = known ?? ListenHash(data)
    // Of little data it is reckoned as fast as it is kept.
    active[listen.target]?.hash = hash.compound == nil ? nil : hash
    link.connection?.send(
      .request(
        number,
        .listen(listen.target, tag: listen.tag, hash: hash.plain, compound: hash.compound)))
  }

  private func answered(_ listen: Listen, _ response: Response) {
    for warning in response.warnings {
      setup.logger.warning(
        "the server warns", metadata: ["target": "\(listen.target)", "warning": "\(warning)"])
    }
    if let error = DatabaseError(response, "The server refused to listen at \(listen.target)") {
      cancel(listen.target, error)
    } else if active[listen.target]?.listen == listen {
      completed(listen.target)
    }
  }
}

extension ConnectionAction {
  /// Whether it may be done while other edits wait for their commit: what it reads is in memory, and
  /// what it raises waits behind them.
  fileprivate var joinsCommit: Bool {
    switch self {
    case .pushed, .writeAnswered, .send, .sendListen, .writeSent, .probe, .wake, .log: true
    case .listenAnswered(_, let response): response.status == .ok
    default: false
    }
  }
}
