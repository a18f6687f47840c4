import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import TestSupport

extension ConnectionWorld {
  /// Tells the machine something, and does what it asks for.
  mutating func give(_ input: ConnectionInput) {
    inbox.append(input)
    guard !isGiving else { return }
    isGiving = true
    while !inbox.isEmpty {
      let now = ClockReading(uptime: uptime, wallTime: wall)
      let actions = machine.handle(inbox.removeFirst(), at: now)
      isChangingLane = actions.contains { if case .laneChanged = $0 { true } else { false } }
      for action in actions { execute(action) }
    }
    isGiving = false
  }

  private mutating func execute(_ action: ConnectionAction) {
    switch action {
    case .connect(_, let number):
      log.append("connect \(number.rawValue)")
      if connection != nil { fail("a second connection") }
      if !flying.isEmpty { fail("\(flying.values) were not settled") }
      if !isCalm, chance.one(in: 5) { break }
      connect(number)
    case .disconnect(let number):
      if let connection, connection != number { fail("another connection was ended") }
      log.append("disconnect")
      hangUp()
    case .probe(let number):
      guard let connection, connection == number else { break }
      if chance.one(in: 3) { give(.cannotProbe(number)) } else { toClient.append(.pong) }
    case .send(let message): send(message)
    case .sendListen(let number, let listen):
      checkRequest(number, "listen")
      flyingListens.insert(number)
      toServer.append(
        .request(number, .listen(listen.target, tag: listen.tag, hash: "", compound: nil)))
    case .fetchToken(let isForced, let number):
      chores.append(.token(isForced: isForced, number: number))
    case .wake(let time): wakes.append(time)
    case .laneChanged(let lane):
      // What waits has its position behind all of the new lane's writes.
      let waiting = operations.filter { operation in
        operation.value.isGet && !flyingOperations.values.contains(operation.key)
      }
      for id in waiting.keys.sorted(by: { $0.rawValue < $1.rawValue }) { waitAgain(id) }
      give(.laneOpened(newest: newest[lane.identity].map { WriteID(rawValue: $0) }))
    case .needWrites(let lane, let after, let limit):
      // What was read earlier is not given any more; what is read late may be.
      chores.removeAll { if case .page(_, .some, _, _) = $0 { true } else { false } }
      let read = chance.one(in: 2) ? page(lane, after: after, limit: limit) : nil
      chores.append(.page(lane, read, after: after, limit: limit))
    case .markSent(let ids): chores.append(.mark(ids))
    case .writeAnswered(let id, let response, _): writeAnswered(id, response)
    case .writeOutcomeUnknown(let id), .writeReturned(let id):
      log.append("unknown \(id)")
      if !flying.values.contains(id), denied[id] == nil { fail("write \(id) was not under way") }
      flying = flying.filter { $0.value != id }
      denied[id] = nil
    case .getAnswered(let id, _), .getUnavailable(let id), .onDisconnectAnswered(let id, _),
      .onDisconnectGivenUp(let id, _):
      log.append("done \(id.rawValue)")
      if operations.removeValue(forKey: id) == nil { fail("operation \(id.rawValue) ended twice") }
    case .putAnswered(let id, _, _), .putGivenUp(let id, _), .putReturned(let id):
      if puts.remove(id) == nil { fail("put \(id.rawValue) ended twice") }
    case .connected, .offset, .identification, .writable, .shutDown, .log, .authentication,
      .keepToken, .fetchAppToken,
      .listenAnswered, .listenRevoked, .updated, .writeSent:
      break
    }
  }

  /// A get that is not under way has its position anew; the order of two gets does not matter.
  mutating func waitAgain(_ id: OperationID) {
    guard operations[id] != nil else { return }
    order += 1
    operations[id]?.order = order
    operations[id]?.lane = machine.lane
  }

  private mutating func connect(_ number: ConnectionNumber) {
    connection = number
    denied = [:]
    isGreeted = false
    confirmed = nil
    authRequest = nil
    lastRequest = 0
    served = ""
    isExpired = false
    toClient = [.hello(Hello(timestamp: 1_000_000, host: "h", session: "s"))]
  }

  private mutating func send(_ message: ClientMessage) {
    guard case .request(let number, let request) = message else { return }
    switch request {
    case .authenticate(let credential):
      let identity = String(credential.token.prefix { $0 != "#" })
      checkConnection(number)
      if identity != machine.lane.identity { fail("the token of another user was shown") }
      if identity != confirmed { confirmed = nil }
      authRequest = (number, identity)
    case .unauthenticate:
      checkConnection(number)
      if confirmed != "" { confirmed = nil }
      authRequest = (number, "")
    case .put(let path, _, _) where path.first == Key("w"): sendWrite(number, path)
    case .put(let path, _, _):
      checkRequest(number, "put")
      checkWindow()
      guard let id = operation(path) else { break }
      if !puts.contains(id) { fail("put \(id.rawValue) was sent after its end") }
      flyingPuts[number] = id
    case .get(let target): sendGet(number, target.path)
    case .onDisconnectPut(let path, _): sendOperation(number, path)
    case .unlisten: checkConnection(number)
    default: fail("an unexpected request: \(request)")
    }
    log.append("send \(number) \(request)")
    toServer.append(message)
  }

  private func operation(_ path: Path) -> OperationID? {
    path.last.flatMap { UInt64($0.string) }.map { OperationID(rawValue: $0) }
  }

  private mutating func checkConnection(_ number: UInt64) {
    if connection == nil || !isGreeted { fail("a request without a connection") }
    if number != lastRequest + 1 { fail("request \(number) after \(lastRequest)") }
    lastRequest = number
  }

  private mutating func checkRequest(_ number: UInt64, _ what: String) {
    checkConnection(number)
    if confirmed != machine.lane.identity {
      let known = confirmed ?? "nobody"
      fail("\(what) \(number) was sent as \(machine.lane.identity), the server knows \(known)")
    }
  }

  private mutating func checkWindow() {
    if flying.count + flyingPuts.count >= ConnectionWorld.window { fail("the window is exceeded") }
  }

  private mutating func sendWrite(_ number: UInt64, _ path: Path) {
    checkRequest(number, "write")
    checkWindow()
    guard let id = writeID(path), let write = stored[id] else {
      return fail("\(path) is no write that waits")
    }
    if id.lane.identity != machine.lane.identity { fail("write \(id) is another user's") }
    if !write.isIdempotent, !write.isMarked { fail("write \(id) was not marked") }
    if flying.values.contains(id) { fail("write \(id) is under way already") }
    if answered[id] != nil { fail("write \(id) was answered and is sent again") }
    for (other, earlier) in stored where other.lane == id.lane && other.number < id.number {
      if !isPast(other, earlier) { fail("write \(id) overtook \(other)") }
    }
    for (other, waiting) in operations where waiting.order < write.order && !waiting.isGet {
      if !flyingOperations.values.contains(other) { fail("write \(id) overtook \(other.rawValue)") }
    }
    flying[number] = id
    denied[id] = nil
  }

  /// Whether a write need not be sent before others.
  private func isPast(_ id: OutboundWriteID, _ write: StoredWrite) -> Bool {
    write.isRejected || answered[id] != nil || denied[id] != nil || flying.values.contains(id)
  }

  /// A get has no position among the others.
  private mutating func sendGet(_ number: UInt64, _ path: Path) {
    checkRequest(number, "get")
    guard let id = operation(path), operations[id] != nil else {
      return fail("\(path) is no get that waits")
    }
    flyingOperations[number] = id
  }

  private mutating func sendOperation(_ number: UInt64, _ path: Path) {
    checkRequest(number, "operation")
    guard let id = operation(path), let waiting = operations[id] else {
      return fail("\(path) is no operation that waits")
    }
    for (other, earlier) in stored where other.lane == machine.lane {
      if earlier.order < waiting.order, !isPast(other, earlier) {
        fail("operation \(path) overtook \(other)")
      }
    }
    flyingOperations[number] = id
  }

  private mutating func writeAnswered(_ id: OutboundWriteID, _ response: Response) {
    log.append("answered \(id) \(response.status)")
    answers[id, default: 0] += 1
    if answers[id, default: 0] > submissions[id, default: 0] {
      fail("write \(id) was answered twice")
    }
    if response.status == .ok, applied[id] == nil { fail("write \(id) was not applied") }
    let last = answered[id] ?? denied.removeValue(forKey: id) ?? 0
    if connection != nil, machine.isConnected, !isChangingLane, id.lane == machine.lane,
      flyingListens.contains(where: { $0 <= last })
    {
      fail("the answer of \(id) did not wait for its listens")
    }
    answered[id] = last
    ended.insert(id)
    chores.append(.finish(id, response))
  }

  /// The write that a path belongs to.
  func writeID(_ path: Path) -> OutboundWriteID? {
    guard path.count == 3, let number = path.last.flatMap({ UInt64($0.string) }) else { return nil }
    let identity = String(path.keys[1].string.dropFirst())
    return ConnectionBench.id(number, in: ConnectionBench.lane(identity))
  }
}
