import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import TestSupport

/// A client's machine with its store, a token provider and a server, in which everything waits for
/// its turn: messages both ways, answers of the store and of the provider. What is under way when a
/// connection ends is lost.
struct ConnectionWorld {
  struct StoredWrite {
    let isIdempotent: Bool
    var isMarked = false
    var isRejected = false
    /// When it was queued, among all that was issued.
    let order: Int
  }

  struct WaitingOperation {
    var order: Int
    /// The lane that it was issued in.
    var lane: Lane
    let isGet: Bool
  }

  enum Chore {
    case page(Lane, [OutboundWrite]?, after: WriteID?, limit: Int)
    case mark([OutboundWriteID])
    case finish(OutboundWriteID, Response)
    case token(isForced: Bool, number: UInt64)
  }

  var chance: Seeded
  var machine: ConnectionMachine
  var uptime: Milliseconds = 1_000
  var wall: Milliseconds = 1_000_000
  var wakes: [Milliseconds] = []
  /// What the machine is told next.
  var inbox: [ConnectionInput] = []
  var isGiving = false
  /// Whether another user's lane is coming, so that answers do not wait any more.
  var isChangingLane = false
  var chores: [Chore] = []
  /// What went wrong.
  var faults: [String] = []
  /// What happened, for people.
  var log: [String] = []
  /// Whether chance brings no more trouble.
  var isCalm = false

  // The app and its store.
  var order = 0
  var user = ""
  var tokenNumber = 0
  var stored: [OutboundWriteID: StoredWrite] = [:]
  var newest: [String: UInt64] = [:]
  var listens: [Listen] = []
  var operations: [OperationID: WaitingOperation] = [:]
  var lastOperation: UInt64 = 0

  // The client's end of the connection.
  var connection: ConnectionNumber?
  var isGreeted = false
  /// Whom the server has confirmed; nil when that is open.
  var confirmed: String?
  var lastRequest: UInt64 = 0
  var authRequest: (number: UInt64, identity: String)?
  var flying: [UInt64: OutboundWriteID] = [:]
  var flyingOperations: [UInt64: OperationID] = [:]
  var flyingPuts: [UInt64: OperationID] = [:]
  var flyingListens: Set<UInt64> = []
  /// Answered writes, with the last request that had been sent before the answer came.
  var answered: [OutboundWriteID: UInt64] = [:]
  /// Likewise those that were refused, for which the client decides whether that counts.
  var denied: [OutboundWriteID: UInt64] = [:]
  /// Writes whose answers were handed on, and of whose end the store was not told yet.
  var ended: Set<OutboundWriteID> = []
  var answers: [OutboundWriteID: Int] = [:]
  var submissions: [OutboundWriteID: Int] = [:]
  var puts: Set<OperationID> = []

  // The server's end.
  var toServer: [ClientMessage] = []
  var toClient: [ServerMessage] = []
  var served = ""
  var isExpired = false
  var validFrom = 0
  var applied: [OutboundWriteID: Int] = [:]

  static let window = 4

  init(seed: UInt64) {
    chance = Seeded(seed)
    var limits = ConnectionLimits()
    limits.window = ConnectionWorld.window
    machine = ConnectionMachine(
      namespace: "ns", lane: ConnectionBench.nobody, newest: nil, usesTokens: true,
      limits: limits, seed: seed)
  }

  mutating func fail(_ text: String) { faults.append(text) }

  // MARK: Steps

  /// One step of chance.
  mutating func step() {
    switch chance.below(isCalm ? 8 : 24) {
    case 0, 1, 2: serve()
    case 3, 4, 5: deliver()
    case 6, 7: work()
    case 8, 9, 10: write()
    case 11: operate()
    case 12: listen()
    case 13: put()
    case 14: if chance.one(in: 4) { cut() }
    case 15:
      if chance.one(in: 4) {
        give(chance.one(in: 2) ? .reasonBegan(.offline) : .reasonEnded(.offline))
      }
    case 16: pass(Milliseconds(chance.below(chance.one(in: 8) ? 40_000 : 1_500)))
    case 17: if chance.one(in: 6) { expire() }
    case 18: if chance.one(in: 10) { signIn() }
    case 19: retryRejected()
    case 20: wall += Milliseconds(chance.below(2_000_000) - 1_000_000)
    case 21: if chance.one(in: 3) { give(.tick) }
    default:
      serve()
      deliver()
    }
  }

  mutating func write() {
    let lane = machine.lane
    let number = (newest[lane.identity] ?? 0) + 1
    newest[lane.identity] = number
    let id = ConnectionBench.id(number, in: lane)
    order += 1
    stored[id] = StoredWrite(isIdempotent: !chance.one(in: 4), order: order)
    submit(id)
  }

  mutating func submit(_ id: OutboundWriteID) {
    submissions[id, default: 0] += 1
    log.append("write \(id)")
    if let write = outbound(id) { give(.write(write)) }
  }

  func outbound(_ id: OutboundWriteID) -> OutboundWrite? {
    guard let write = stored[id] else { return nil }
    let leaf: Leaf = write.isIdempotent ? 1 : .serverValue(.increment(1))
    let path = Path("w/-\(id.lane.identity)/\(id.number.rawValue)")
    return OutboundWrite(
      id.lane,
      QueuedWrite(
        id: id.number, content: .set(path, Node(leaf)), state: write.isMarked ? .sent : .queued))
  }

  mutating func operate() {
    lastOperation += 1
    let id = OperationID(rawValue: lastOperation)
    let isGet = chance.one(in: 2)
    order += 1
    operations[id] = WaitingOperation(order: order, lane: machine.lane, isGet: isGet)
    log.append("\(isGet ? "get" : "onDisconnect") \(id.rawValue)")
    let path = Path("o/\(id.rawValue)")
    give(isGet ? .get(id, QueryTarget(path)) : .onDisconnect(id, .put(path, Node(1))))
  }

  mutating func listen() {
    if let last = listens.last, chance.one(in: 2) {
      listens.removeLast()
      give(.unlisten(last))
    } else {
      lastOperation += 1
      let listen = ConnectionBench.listen(Path("l/\(lastOperation)"))
      listens.append(listen)
      give(.listen(listen))
    }
  }

  mutating func put() {
    guard machine.isWritable else { return }
    lastOperation += 1
    let id = OperationID(rawValue: lastOperation)
    puts.insert(id)
    log.append("put \(id.rawValue)")
    let position = machine.takePosition()
    give(.put(TransactionPut(id, position: position, Path("t/\(id.rawValue)"), Node(1), hash: "h")))
  }

  mutating func retryRejected() {
    let lane = machine.lane
    let rejected = stored.filter { $0.value.isRejected && $0.key.lane == lane }.keys
    guard let id = rejected.min(by: { $0.number < $1.number }) else { return }
    stored[id]?.isRejected = false
    stored[id]?.isMarked = false
    submit(id)
  }

  mutating func signIn() {
    user = ["", "ada", "bob"][chance.below(3)]
    tokenNumber += 1
    log.append("sign in \(user)")
    give(.refreshToken)
  }

  func token() -> UserToken {
    UserToken(Credential("\(user)#\(tokenNumber)"), identity: user)
  }

  /// All tokens up to now are over.
  mutating func expire() {
    validFrom = tokenNumber + 1
    guard connection != nil, isGreeted, !served.isEmpty else { return }
    isExpired = true
    log.append("expire")
    toClient.append(.push(.authRevoked(.expiredToken, reason: "over")))
  }

  /// The connection breaks.
  mutating func cut() {
    guard let connection else { return }
    log.append("cut")
    hangUp()
    give(.event(.closed("cut"), connection))
  }

  mutating func hangUp() {
    connection = nil
    toServer = []
    toClient = []
    flyingListens = []
    for id in flyingOperations.values {
      if let operation = operations[id], operation.lane != machine.lane { waitAgain(id) }
    }
    flyingOperations = [:]
    flyingPuts = [:]
  }

  /// Work of the store or of the provider is done.
  mutating func work() {
    guard !chores.isEmpty else { return }
    switch chores.removeFirst() {
    case .page(let lane, let read, let after, let limit):
      // What has ended since it was read is not given.
      let left = read?.filter { stored[$0.id]?.isRejected == false && !ended.contains($0.id) }
      let isLast = (read?.count ?? limit) < limit
      if let left, isLast || !left.isEmpty {
        give(.writes(left, lane, after: after, isLast: isLast))
      } else {
        let page = self.page(lane, after: after, limit: limit)
        give(.writes(page, lane, after: after, isLast: page.count < limit))
      }
    case .mark(let ids):
      if !isCalm, chance.one(in: 5) { return give(.notMarked(ids)) }
      for id in ids { stored[id]?.isMarked = true }
      give(.marked(ids))
    case .finish(let id, let response):
      if response.status == .ok {
        stored[id] = nil
      } else {
        stored[id]?.isRejected = true
      }
      answered[id] = nil
      ended.remove(id)
    case .token(let isForced, let number):
      if isForced { tokenNumber = max(tokenNumber + 1, validFrom) }
      if !isCalm, chance.one(in: 5) {
        give(.token(.failed("away"), fetch: number))
      } else {
        give(.token(user.isEmpty ? .signedOut : .token(token()), fetch: number))
      }
    }
  }

  func page(_ lane: Lane, after: WriteID?, limit: Int) -> [OutboundWrite] {
    let ids = stored.filter {
      $0.key.lane == lane && !$0.value.isRejected && !ended.contains($0.key)
    }.keys
      .filter { id in after.map { id.number > $0 } ?? true }
      .sorted { $0.number < $1.number }
    return ids.prefix(limit).compactMap { outbound($0) }
  }

  mutating func pass(_ time: Milliseconds) {
    let end = uptime + time
    var ticks = 0
    while let next = wakes.min(), next <= end {
      ticks += 1
      guard ticks < 10_000 else { return fail("it asks to be woken again and again") }
      wakes.removeAll { $0 == next }
      wall += max(0, next - uptime)
      uptime = max(uptime, next)
      give(.tick)
    }
    wall += end - uptime
    uptime = end
  }
}
