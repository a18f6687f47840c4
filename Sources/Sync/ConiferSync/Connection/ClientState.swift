import ConiferStorage
import ConiferWire

/// What outlasts a connection: who the client is, what it wants sent, and what is to be done.
struct ClientState: Sendable {
  let limits: ConnectionLimits
  var positions: LanePositions
  var auth: AuthMachine
  var appCheck: AppCheckMachine
  var backoff: Backoff
  var listens = WantedListens()
  /// The writes that come next.
  var sendBuffer = SendBuffer()
  /// Puts and onDisconnects that wait to be sent, in order.
  var operations = FIFO<Operation>()
  /// Reads that wait to be sent.
  var gets = WaitingGets()
  /// When the present input came.
  var now = ClockReading(uptime: 0, wallTime: 0)
  /// The server's time minus the device's, in milliseconds; 0 before the first hello.
  var offset: Int64 = 0
  /// What the owner is to do after the present input.
  var actions: [ConnectionAction] = []

  init(
    _ limits: ConnectionLimits, _ positions: LanePositions, _ auth: AuthMachine,
    _ appCheck: AppCheckMachine, _ backoff: Backoff
  ) {
    self.limits = limits
    self.positions = positions
    self.auth = auth
    self.appCheck = appCheck
    self.backoff = backoff
  }

  mutating func log(_ words: String) { actions.append(.log(words)) }

  // MARK: Tokens

  /// Asks the token provider, unless it is being asked. While connected another token is forced.
  mutating func fetchToken(isConnected: Bool) {
    auth.cancelPlannedFetch()
    guard !auth.isFetching else { return }
    let isForced = auth.mustForce || isConnected
    auth.beginFetch(at: now.uptime, isForced: isForced)
    actions.append(.fetchToken(force: isForced, number: auth.requests.newest))
  }

  /// Asks the token provider again, since somebody else may be signed in.
  mutating func refreshToken() {
    guard auth.usesTokens else { return }
    auth.beginChange(at: now.uptime)
    actions.append(.fetchToken(force: auth.mustForce, number: auth.requests.newest))
  }

  /// The token provider failed, or did not answer in time.
  ///
  /// - Parameter isBlocking: whether there can be no connection without a token.
  mutating func tokenFailed(_ reason: String, isBlocking: Bool) {
    let delay = max(limits.delays.first, backoff.takeDelay(auth.requests.failures))
    auth.fetchFailed(reason, retry: now.uptime.adding(delay), isBlocking: isBlocking)
    log("The token provider failed: \(reason)")
  }

  // MARK: The app's own tokens

  /// Asks the provider of the app's tokens, unless it is being asked.
  ///
  /// - Parameters:
  ///   - isForced: whether the token at hand is to be replaced by another one.
  ///   - isReplacing: whether the answer to an earlier question is of no use.
  mutating func fetchAppToken(isForced: Bool = false, isReplacing: Bool = false) {
    appCheck.cancelPlannedFetch()
    guard appCheck.isUsed, isReplacing || !appCheck.isFetching else { return }
    appCheck.beginFetch(at: now.uptime, isForced: isForced || appCheck.mustForce)
    actions.append(.fetchAppToken(force: appCheck.isForcing, number: appCheck.newest))
  }

  /// The provider of the app's tokens failed, or its answer was lost.
  mutating func appTokenFailed(_ reason: String) {
    let delay = max(limits.delays.first, backoff.takeDelay(appCheck.failures))
    appCheck.fetchFailed(retry: now.uptime.adding(delay))
    log("The provider of the app's tokens failed: \(reason)")
  }

  /// The server does not take the app's token, or no longer does.
  mutating func appTokenRefused(_ status: Response.Status, _ reason: String) {
    log("The server does not take the app's token: \(status) \(reason)")
    guard appCheck.isUsed else { return }
    let delay = max(limits.delays.first, backoff.takeDelay(0))
    appCheck.refused(at: now.uptime, delay: delay)
    if let due = appCheck.fetchAt, due <= now.uptime { fetchAppToken() }
  }

  /// The server said hello.
  mutating func greeted(_ hello: Hello) {
    offset = hello.timestamp &- now.wallTime
    actions.append(.offset(offset))
    actions.append(.connected(true))
    auth.scheduleReplacement(at: now, offset: offset)
    appCheck.scheduleReplacement(at: now, offset: offset)
  }

  // MARK: Lanes

  /// Changes to another user's lane: what was issued under the old one is not sent as the new user's.
  mutating func change(to lane: Lane) {
    positions = LanePositions(opening: lane)
    sendBuffer.restart()
    giveUpOperations(with: .identityChanged)
    // The next start must not show the old user's token.
    actions.append(.keepToken(nil))
    actions.append(.laneChanged(lane))
  }

  /// Takes in the newest number of the lane; all that waits has its position after it.
  mutating func openLane(_ newest: WriteID?) {
    var positions = LanePositions(self.positions.lane, newest: newest)
    operations.changeAll { operation in
      operation.position = positions.next()
      operation.lane = positions.lane
    }
    self.positions = positions
  }

  // MARK: Operations

  /// Takes in an operation that waits to be sent.
  mutating func issue(_ kind: Operation.Kind, at position: LanePosition) {
    insert(Operation(kind: kind, position: position, lane: positions.lane))
  }

  /// Inserts an operation at its position; after all others if it was issued in another lane.
  mutating func insert(_ operation: Operation) {
    var operation = operation
    if operation.lane != positions.lane {
      operation.position = positions.next()
      operation.lane = positions.lane
    }
    operations.insert(operation) { operation.position < $0.position }
  }

  /// Hands unsent puts back, since they name hashes of the data at that time.
  mutating func returnPuts() {
    for operation in operations.all {
      if case .put(let put) = operation.kind { actions.append(.putReturned(put.id)) }
    }
    operations.removeAll { if case .put = $0.kind { true } else { false } }
  }

  /// Ends all unsent operations with a local status.
  mutating func giveUpOperations(with status: LocalStatus) {
    let all = operations.all
    operations.removeAll()
    for operation in all { giveUp(operation, with: status) }
  }

  mutating func giveUp(_ operation: Operation, with status: LocalStatus) {
    switch operation.kind {
    case .put(let put): actions.append(.putGivenUp(put.id, status))
    case .onDisconnect(let id, _): actions.append(.onDisconnectGivenUp(id, status))
    }
  }

  // MARK: Marking

  /// Writes could not be marked: they wait, and so does what follows them.
  mutating func markingFailed(_ ids: [OutboundWriteID]) {
    let delay = max(limits.delays.first, backoff.takeDelay(sendBuffer.markingFailures + 1))
    sendBuffer.markingFailed(ids, retry: now.uptime.adding(delay))
  }
}
