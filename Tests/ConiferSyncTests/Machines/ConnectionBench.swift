import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Testing

/// A connection machine with clocks, whose timers fire as time passes.
struct ConnectionBench {
  static let tree = TreeID(rawValue: 1)
  static let nobody = Lane(tree: tree)

  static func lane(_ identity: String) -> Lane { Lane(tree: tree, identity: identity) }

  /// A token of somebody; `life` in milliseconds from wall time 0.
  static func token(_ identity: String, _ text: String = "t", until expiry: Int64? = nil)
    -> UserToken
  {
    UserToken(Credential("\(identity)-\(text)"), identity: identity, expiry: expiry)
  }

  static func write(_ number: UInt64, _ node: Node = Node(1), in lane: Lane = nobody)
    -> OutboundWrite
  {
    let content = WriteContent.set(Path("w/\(number)"), node)
    return OutboundWrite(lane, QueuedWrite(id: WriteID(rawValue: number), content: content))
  }

  static func increment(_ number: UInt64, state: WriteState = .queued) -> OutboundWrite {
    let node = Node(.serverValue(.increment(1)))
    let content = WriteContent.set(Path("w/\(number)"), node)
    let id = WriteID(rawValue: number)
    return OutboundWrite(nobody, QueuedWrite(id: id, content: content, state: state))
  }

  static func id(_ number: UInt64, in lane: Lane = nobody) -> OutboundWriteID {
    OutboundWriteID(lane, WriteID(rawValue: number))
  }

  static func listen(_ path: Path) -> Listen { Listen(QueryTarget(path), tag: nil) }

  var machine: ConnectionMachine
  var uptime: Milliseconds = 10_000
  /// Wall time minus uptime.
  var skew: Milliseconds = 0
  private var wakes: [Milliseconds] = []
  /// The newest request to the token provider that `tell` has not answered.
  private var unanswered: UInt64?
  /// The present connection.
  private(set) var connection = ConnectionNumber(rawValue: 0)

  init(
    lane: Lane = nobody, newest: UInt64? = nil, usesTokens: Bool = false, token: UserToken? = nil,
    usesAppCheck: Bool = false, limits: ConnectionLimits = ConnectionLimits(), seed: UInt64 = 1
  ) {
    machine = ConnectionMachine(
      namespace: "ns", lane: lane, newest: newest.map { WriteID(rawValue: $0) },
      usesTokens: usesTokens, token: token, usesAppCheck: usesAppCheck, limits: limits, seed: seed)
  }

  /// Gives an input; the actions but for wishes to be woken.
  @discardableResult
  mutating func give(_ input: ConnectionInput) -> [ConnectionAction] {
    let now = ClockReading(uptime: uptime, wallTime: uptime + skew)
    var actions: [ConnectionAction] = []
    for action in machine.handle(input, at: now) {
      switch action {
      case .wake(let time): wakes.append(time)
      case .fetchToken(_, let number):
        unanswered = number
        actions.append(action)
      case .connect(_, let number):
        connection = number
        actions.append(action)
      default: actions.append(action)
      }
    }
    return actions
  }

  /// The token provider answers its newest request; if there is none, the app has it asked first.
  @discardableResult
  mutating func tell(_ answer: TokenAnswer) -> [ConnectionAction] {
    var actions = unanswered == nil ? give(.refreshToken) : []
    guard let number = unanswered else {
      Issue.record("the token provider is not asked")
      return actions
    }
    unanswered = nil
    actions += give(.token(answer, fetch: number))
    return actions
  }

  /// A message from the server on the present connection.
  @discardableResult
  mutating func receive(_ message: ServerMessage) -> [ConnectionAction] {
    give(.event(.message(message), connection))
  }

  @discardableResult
  mutating func answer(_ number: UInt64, _ response: Response = .ok) -> [ConnectionAction] {
    receive(.response(number, response))
  }

  @discardableResult
  mutating func lose() -> [ConnectionAction] { give(.event(.closed("lost"), connection)) }

  @discardableResult
  mutating func hello(host: String = "h", session: String = "s") -> [ConnectionAction] {
    let time = uptime + skew + 500
    return receive(.hello(Hello(timestamp: time, host: host, session: session)))
  }

  /// Lets time pass, with all timers on the way.
  @discardableResult
  mutating func pass(_ time: Milliseconds) -> [ConnectionAction] {
    let end = uptime + time
    var actions: [ConnectionAction] = []
    var ticks = 0
    while let next = wakes.min(), next <= end {
      wakes.removeAll { $0 == next }
      uptime = max(uptime, next)
      actions += give(.tick)
      ticks += 1
      guard ticks < 10_000 else {
        Issue.record("the machine asks to be woken again and again")
        break
      }
    }
    uptime = end
    return actions
  }

  /// Connects without tokens, and answers that the queue is empty.
  mutating func connect() {
    give(.reasonEnded(.starting))
    hello()
    give(.writes([], machine.lane, after: nil, isLast: true))
  }

  /// Connects as somebody, and answers that the queue is empty.
  mutating func connect(as token: UserToken) {
    give(.reasonEnded(.starting))
    tell(.token(token))
    hello()
    answer(1)
    give(.writes([], machine.lane, after: nil, isLast: true))
  }
}

extension [ConnectionAction] {
  /// Whether the token provider is asked by force, each time that it is asked.
  var fetches: [Bool] {
    compactMap { if case .fetchToken(let isForced, _) = $0 { isForced } else { nil } }
  }

  /// The numbers under which the token provider is asked.
  var fetchNumbers: [UInt64] {
    compactMap { if case .fetchToken(_, let number) = $0 { number } else { nil } }
  }

  /// Whether the provider of the app's tokens is asked by force, each time that it is asked.
  var appFetches: [Bool] {
    compactMap { if case .fetchAppToken(let isForced, _) = $0 { isForced } else { nil } }
  }

  /// The numbers and requests that are sent.
  var requests: [(number: UInt64, request: Request)] {
    compactMap {
      if case .send(.request(let number, let request)) = $0 { (number, request) } else { nil }
    }
  }

  /// The paths of the puts that are sent.
  var puts: [Path] {
    requests.compactMap { if case .put(let path, _, _) = $0.request { path } else { nil } }
  }

  /// The listens that are sent.
  var listens: [(number: UInt64, listen: Listen)] {
    compactMap {
      if case .sendListen(let number, let listen) = $0 { (number, listen) } else { nil }
    }
  }

  /// The connections that are asked for.
  var connects: [ConnectionRequest] {
    compactMap { if case .connect(let request, _) = $0 { request } else { nil } }
  }

  /// The number of the last request.
  var lastNumber: UInt64 { requests.last?.number ?? 0 }
}

extension OutboundWrite {
  /// The request that carries it.
  var request: Request { Request(content) }
}
