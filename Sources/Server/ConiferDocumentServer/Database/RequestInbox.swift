import ConiferDocument
import ConiferWire

/// The queue of a database's requests. It limits the number and bytes of each stream's requests, of
/// each connection's calls without a stream, and of all together. A request counts until it is
/// done.
struct RequestInbox: Sendable {
  /// The most requests of a stream that may wait. A client that reads its answers has far fewer
  /// under way.
  static let maxRequestsPerStream = 2 * ListeningStream.maxTargets
  /// How many commits without a stream may wait of a connection.
  static let maxCommitsPerConnection = 1_000
  /// How many bytes of documents may wait of a stream, and of a connection's calls: what a client has on its way at most,
  /// ten commits.
  static let maxBytes = 10 * DocumentLimits.requestSize
  /// How many requests of all may wait.
  static let maxRequests = 100_000
  /// The most bytes of all that may wait. One request of a requester that has nothing waiting is
  /// always let in.
  static let maxTotalBytes = 10 * maxBytes

  /// Who is counted for a request.
  enum Requester: Hashable, Sendable {
    case connection(ConnectionID)
    case stream(StreamID)

    fileprivate var requestLimit: Int {
      switch self {
      case .connection: RequestInbox.maxCommitsPerConnection
      case .stream: RequestInbox.maxRequestsPerStream
      }
    }
  }

  /// A request with its size, which is measured before the lock is taken because that takes long
  /// for large requests.
  struct Entry: Sendable {
    let request: DatabaseRequest
    /// Nil for the end of a stream, and what the server itself does.
    fileprivate let requester: Requester?
    fileprivate let bytes: Int

    init(_ request: DatabaseRequest) {
      self.request = request
      requester = request.requester
      bytes = requester == nil ? 0 : request.bytes
    }
  }

  /// What is to be done about a request that was taken in.
  enum Admission: Sendable, Equatable {
    /// Somebody must begin to do what waits.
    case begins
    case waits
    /// It was not taken in: whoever asked is told so.
    case refused
  }

  private struct Load {
    var count = 0
    var bytes = 0

    static func + (a: Load, b: Load) -> Load {
      Load(count: a.count + b.count, bytes: a.bytes + b.bytes)
    }
  }

  /// The requests that came in since the last `take`, by requester.
  private struct Arrivals {
    var loads: [Requester: Load] = [:]
    var all = Load()
    /// The streams that asked for too much.
    var flooded: Set<StreamID> = []

    mutating func add(_ bytes: Int, of requester: Requester) {
      let load = Load(count: 1, bytes: bytes)
      loads[requester, default: Load()] = loads[requester, default: Load()] + load
      all = all + load
    }
  }

  private(set) var requests: [DatabaseRequest] = []
  /// Whether a task performs the requests.
  private var isServed = false
  private var waiting = Arrivals()
  /// The requests that were taken last, of which some may not be done yet.
  private var taken = Arrivals()

  /// Adds a request. A stream that exceeds its limit is marked as flooded; its later requests are
  /// dropped.
  mutating func add(_ entry: Entry) -> Admission {
    switch entry.requester {
    case nil: requests.append(entry.request)
    case .stream(let id)? where waiting.flooded.contains(id) || taken.flooded.contains(id):
      return .waits
    case let requester?:
      if hasRoom(for: entry.bytes, of: requester) {
        waiting.add(entry.bytes, of: requester)
        requests.append(entry.request)
      } else if case .stream(let id) = requester {
        waiting.flooded.insert(id)
        requests.append(.flooded(id))
      } else {
        return .refused
      }
    }
    defer { isServed = true }
    return isServed ? .waits : .begins
  }

  /// Whether there is room for another request. A requester's only request may have any size; it is
  /// refused when its turn comes.
  private func hasRoom(for bytes: Int, of requester: Requester) -> Bool {
    let own = waiting.loads[requester, default: Load()] + taken.loads[requester, default: Load()]
    if own.count == 0 { return true }
    let all = waiting.all + taken.all
    return own.count < requester.requestLimit && own.bytes + bytes <= Self.maxBytes
      && all.count < Self.maxRequests && all.bytes + bytes <= Self.maxTotalBytes
  }

  /// Takes the waiting requests, when all that were taken before are done. When none waits, no task
  /// performs requests any more.
  mutating func take() -> [DatabaseRequest] {
    defer { (requests, taken, waiting) = ([], waiting, Arrivals()) }
    if requests.isEmpty { isServed = false }
    return requests
  }

  /// Why a stream ends that asked for too much.
  static let flooded = StatusError(
    .resourceExhausted,
    "More requests of the stream wait than may: \(maxRequestsPerStream), or \(maxBytes) bytes. Read the answers "
      + "before sending more.")

  /// Why a commit is refused while too many wait.
  static let busy = StatusError(
    .resourceExhausted,
    "More commits of the connection wait than may: \(maxCommitsPerConnection), or \(maxBytes) bytes. Send it again "
      + "later.")
}

extension DatabaseRequest {
  /// Who is counted for the request.
  fileprivate var requester: RequestInbox.Requester? {
    switch self {
    case .watch(let id, .add), .watch(let id, .refuse), .watch(let id, .remove),
      .writes(let id, .greet),
      .writes(let id, .send):
      .stream(id)
    case .commit(_, .caller(_, let connection, _)),
      .commit(_, .transaction(_, _, let connection, _)):
      connection.map { .connection($0) }
    case .commitEach(_, _, let connection, _): connection.map { .connection($0) }
    default: nil
    }
  }

  /// About how many bytes the request keeps in memory.
  fileprivate var bytes: Int {
    switch self {
    case .writes(_, .send(let writes, _, let token)):
      writes.reduce(token.count) { $0 + $1.requestSize }
    case .writes(_, .greet(let token)): token.count
    case .watch(_, .add(let target)): target.resumeToken.count + target.target.canonical.utf8.count
    case .commit(let writes, .transaction(let reads, _, _, _)):
      writes.reduce(reads.size) { $0 + $1.requestSize }
    case .commit(let writes, _), .commitEach(let writes, _, _, _):
      writes.reduce(0) { $0 + $1.requestSize }
    default: 0
    }
  }
}
