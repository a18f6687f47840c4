import ConiferDocument
import ConiferWire

/// The requests that wait for a database: so many, and so many bytes, of each stream and of all calls without one, whatever
/// clients send.
struct RequestInbox: Sendable {
  /// How many requests of a stream may wait: a client that reads its answers has far fewer on their way.
  static let mostOfStream = 2 * ListeningStream.mostTargets
  /// How many commits without a stream may wait.
  static let mostCalls = 10_000
  /// How many bytes of documents may wait of a stream, and of all calls: what a client has on its way at most, ten commits.
  static let mostBytes = 10 * CommitStaging.mostBytes

  /// What is to be done about a request that was taken in.
  enum Admission: Sendable, Equatable {
    /// Somebody must begin to do what waits.
    case begins
    case waits
    /// It was not taken in: whoever asked is told so.
    case refused
  }

  /// What waits of somebody.
  private struct Load {
    var count = 0
    var bytes = 0

    /// Whether there is room for another request. One alone may have any number of bytes: it is refused when its turn
    /// comes.
    func hasRoom(for bytes: Int, _ mostCount: Int) -> Bool {
      count < mostCount && (self.bytes == 0 || self.bytes + bytes <= RequestInbox.mostBytes)
    }

    mutating func add(_ bytes: Int) {
      count += 1
      self.bytes += bytes
    }
  }

  private(set) var requests: [DatabaseRequest] = []
  /// Whether somebody does them.
  private var isServed = false
  private var streams: [StreamID: Load] = [:]
  /// The streams that asked for too much.
  private var flooded: Set<StreamID> = []
  private var calls = Load()

  /// Takes in a request. Of a stream that asked for too much that alone is left, and its end by the client.
  mutating func add(_ request: DatabaseRequest) -> Admission {
    switch request.asker {
    case .none: requests.append(request)
    case .call:
      let bytes = request.bytes
      guard calls.hasRoom(for: bytes, Self.mostCalls) else { return .refused }
      calls.add(bytes)
      requests.append(request)
    case .stream(let id):
      guard !flooded.contains(id) else { return .waits }
      let bytes = request.bytes
      if streams[id, default: Load()].hasRoom(for: bytes, Self.mostOfStream) {
        streams[id, default: Load()].add(bytes)
        requests.append(request)
      } else {
        flooded.insert(id)
        requests.append(.flooded(id))
      }
    }
    defer { isServed = true }
    return isServed ? .waits : .begins
  }

  /// Takes out what waits; when that is nothing, nobody does anything from then on.
  mutating func take() -> [DatabaseRequest] {
    defer { (requests, streams, flooded, calls) = ([], [:], [], Load()) }
    if requests.isEmpty { isServed = false }
    return requests
  }

  /// Why a stream ends that asked for too much.
  static let flooded = StatusError(
    .resourceExhausted,
    "More requests of the stream wait than may: \(mostOfStream), or \(mostBytes) bytes. Read the answers "
      + "before sending more.")

  /// Why a commit is refused while too many wait.
  static let busy = StatusError(
    .resourceExhausted,
    "More commits wait than may: \(mostCalls), or \(mostBytes) bytes. Send it again later.")
}

extension DatabaseRequest {
  /// Who asks for something, as far as that is counted.
  fileprivate enum Asker {
    /// The end of a stream, and what the server itself does.
    case none
    case call
    case stream(StreamID)
  }

  fileprivate var asker: Asker {
    switch self {
    case .watch(let id, .add), .watch(let id, .remove), .writes(let id, .greet),
      .writes(let id, .send):
      .stream(id)
    case .commit(_, .caller(let caller, _)), .commit(_, .transaction(_, let caller, _)):
      caller.isServer ? .none : .call
    default: .none
    }
  }

  /// About how many bytes the request keeps in memory.
  fileprivate var bytes: Int {
    switch self {
    case .writes(_, .send(let writes, let token)): writes.reduce(token.count) { $0 + $1.size }
    case .writes(_, .greet(let token)): token.count
    case .watch(_, .add(let target)): target.resumeToken.count + target.target.canonical.utf8.count
    case .commit(let writes, .transaction(let reads, _, _)):
      writes.reduce(reads.size) { $0 + $1.size }
    case .commit(let writes, _): writes.reduce(0) { $0 + $1.size }
    default: 0
    }
  }
}
