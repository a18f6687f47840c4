import ConiferWire

/// The requests that wait for a database: of each stream so many, whatever its client sends.
struct RequestInbox: Sendable {
  /// How many requests of a stream may wait: a client that reads its answers has far fewer on their way.
  static let mostOfStream = 2 * ListeningStream.mostTargets

  private(set) var requests: [DatabaseRequest] = []
  /// Whether somebody does them.
  private var isServed = false
  /// How many of a stream wait.
  private var waiting: [StreamID: Int] = [:]

  /// Takes in a request. Of a stream that asked for too much that alone is left, and its end by the client.
  ///
  /// - Returns: whether somebody must begin to do what waits.
  mutating func add(_ request: DatabaseRequest) -> Bool {
    guard let id = request.asker else {
      requests.append(request)
      return begin()
    }
    let count = waiting[id, default: 0]
    guard count <= Self.mostOfStream else { return false }
    waiting[id] = count + 1
    requests.append(count < Self.mostOfStream ? request : .flooded(id))
    return begin()
  }

  private mutating func begin() -> Bool {
    defer { isServed = true }
    return !isServed
  }

  /// Takes out what waits; when that is nothing, nobody does anything from then on.
  mutating func take() -> [DatabaseRequest] {
    defer { (requests, waiting) = ([], [:]) }
    if requests.isEmpty { isServed = false }
    return requests
  }

  /// Why a stream ends that asked for too much.
  static let flooded = StatusError(
    .resourceExhausted,
    "More than \(mostOfStream) requests of the stream wait. Read the answers before sending more.")
}

extension DatabaseRequest {
  /// The stream on which a client asks for something; nil for all else, as for the end of a stream.
  fileprivate var asker: StreamID? {
    switch self {
    case .watch(let id, .add), .watch(let id, .remove), .writes(let id, .greet),
      .writes(let id, .send):
      id
    default: nil
    }
  }
}
