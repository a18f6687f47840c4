import ConiferTree
import ConiferWire

/// The faults that tests scripted for a transport.
struct FaultScript: Sendable {
  /// A number of requests that are answered instead of being done.
  struct Refusals: Sendable {
    var count: Int
    let response: Response
  }

  /// A number of messages after which connections are cut.
  struct Cut: Sendable {
    var messages: Int
    let serverNotices: Bool
  }

  var writes: Refusals?
  var tokens: Refusals?
  /// Writes whose answers are lost.
  var lostAnswers = 0
  var interceptor: (@Sendable (Request) -> Response?)?
  var cuts: [InProcessTransport.Direction: Cut] = [:]
  var held: Set<InProcessTransport.Direction> = []
  var delays: [InProcessTransport.Direction: Duration] = [:]
  /// Connections that are refused.
  var refusedConnections = 0
  var isReachable = true

  /// Whether the next connection is refused.
  mutating func takeConnection() -> Bool {
    if !isReachable { return true }
    if refusedConnections == 0 { return false }
    refusedConnections -= 1
    return true
  }

  /// The scripted answer to a request; nil when the request reaches the server.
  mutating func takeAnswer(_ request: Request) -> Response? {
    if let response = interceptor?(request) { return response }
    if request.isWrite { return Self.take(&writes) }
    if case .authenticate = request { return Self.take(&tokens) }
    return nil
  }

  private static func take(_ refusals: inout Refusals?) -> Response? {
    guard let now = refusals, now.count > 0 else { return nil }
    refusals?.count -= 1
    return now.response
  }

  /// Whether the answer to a request that was just done gets lost.
  mutating func losesAnswer(_ request: Request) -> Bool {
    guard request.isWrite, lostAnswers > 0 else { return false }
    lostAnswers -= 1
    return true
  }

  /// Counts a delivered message; returns how to cut the connection when it was the last one.
  mutating func takeCut(_ direction: InProcessTransport.Direction) -> Cut? {
    guard var cut = cuts[direction] else { return nil }
    cut.messages -= 1
    cuts[direction] = cut.messages > 0 ? cut : nil
    return cut.messages > 0 ? nil : cut
  }
}
