import ConiferDocument
import ConiferWire

/// The requests that wait for a database: so many, and so many bytes, of each stream, of each connection's calls without
/// one, and of all together, whatever clients send. A request counts until it is done.
struct RequestInbox: Sendable {
  /// How many requests of a stream may wait: a client that reads its answers has far fewer on their way.
  static let mostOfStream = 2 * ListeningStream.mostTargets
  /// How many commits without a stream may wait of a connection.
  static let mostCalls = 1_000
  /// How many bytes of documents may wait of a stream, and of a connection's calls: what a client has on its way at most,
  /// ten commits.
  static let mostBytes = 10 * CommitStaging.mostBytes
  /// How many requests of all may wait.
  static let mostOfAll = 100_000
  /// How many bytes of all may wait. Whoever has nothing waiting may have one request more than that.
  static let mostBytesOfAll = 10 * mostBytes

  /// Who is counted for a request.
  enum Asker: Hashable, Sendable {
    case connection(ConnectionID)
    case stream(StreamID)

    fileprivate var mostRequests: Int {
      switch self {
      case .connection: RequestInbox.mostCalls
      case .stream: RequestInbox.mostOfStream
      }
    }
  }

  /// A request, measured before it comes here, as that takes as long as it is large.
  struct Entry: Sendable {
    let request: DatabaseRequest
    /// Nil for the end of a stream, and what the server itself does.
    fileprivate let asker: Asker?
    fileprivate let bytes: Int

    init(_ request: DatabaseRequest) {
      self.request = request
      asker = request.asker
      bytes = asker == nil ? 0 : request.bytes
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

  /// What came since some time, by whom.
  private struct Arrivals {
    var loads: [Asker: Load] = [:]
    var all = Load()
    /// The streams that asked for too much.
    var flooded: Set<StreamID> = []

    mutating func add(_ bytes: Int, of asker: Asker) {
      let load = Load(count: 1, bytes: bytes)
      loads[asker, default: Load()] = loads[asker, default: Load()] + load
      all = all + load
    }
  }

  private(set) var requests: [DatabaseRequest] = []
  /// Whether somebody does them.
  private var isServed = false
  private var waiting = Arrivals()
  /// What was taken out last, and may not be done.
  private var taken = Arrivals()

  /// Takes in a request. Of a stream that asked for too much that alone is left, and its end by the client.
  mutating func add(_ entry: Entry) -> Admission {
    switch entry.asker {
    case nil: requests.append(entry.request)
    case .stream(let id)? where waiting.flooded.contains(id) || taken.flooded.contains(id):
      return .waits
    case let asker?:
      if hasRoom(for: entry.bytes, of: asker) {
        waiting.add(entry.bytes, of: asker)
        requests.append(entry.request)
      } else if case .stream(let id) = asker {
        waiting.flooded.insert(id)
        requests.append(.flooded(id))
      } else {
        return .refused
      }
    }
    defer { isServed = true }
    return isServed ? .waits : .begins
  }

  /// Whether there is room for another request. One alone may have any number of bytes: it is refused when its turn
  /// comes.
  private func hasRoom(for bytes: Int, of asker: Asker) -> Bool {
    let own = waiting.loads[asker, default: Load()] + taken.loads[asker, default: Load()]
    if own.count == 0 { return true }
    let all = waiting.all + taken.all
    return own.count < asker.mostRequests && own.bytes + bytes <= Self.mostBytes
      && all.count < Self.mostOfAll && all.bytes + bytes <= Self.mostBytesOfAll
  }

  /// Takes out what waits, once all that was taken before is done; when nothing waits, nobody does anything from then on.
  mutating func take() -> [DatabaseRequest] {
    defer { (requests, taken, waiting) = ([], waiting, Arrivals()) }
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
    "More commits of the connection wait than may: \(mostCalls), or \(mostBytes) bytes. Send it again "
      + "later.")
}

extension DatabaseRequest {
  /// Who is counted for the request.
  fileprivate var asker: RequestInbox.Asker? {
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
    case .writes(_, .send(let writes, let token)): writes.reduce(token.count) { $0 + $1.size }
    case .writes(_, .greet(let token)): token.count
    case .watch(_, .add(let target)): target.resumeToken.count + target.target.canonical.utf8.count
    case .commit(let writes, .transaction(let reads, _, _, _)):
      writes.reduce(reads.size) { $0 + $1.size }
    case .commit(let writes, _), .commitEach(let writes, _, _, _):
      writes.reduce(0) { $0 + $1.size }
    default: 0
    }
  }
}
