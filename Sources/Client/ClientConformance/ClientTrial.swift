import Conifer
import ConiferServer
import ConiferStorage
import ConiferTree
import ConiferWire
import Dispatch
import Synchronization

/// A server and one app, whose messages are delivered when nothing else is to be done.
final class ClientTrial: Sendable {
  private static let namespace = "trial"

  /// One process of the app.
  private struct Run {
    let database: Database
    let transport: InProcessTransport
  }

  private struct State {
    var run: Run?
    var told: [String] = []
    var sent: [String] = []
  }

  private let server = Server()
  private let pump = DeliveryPump(seed: 1)
  private let queue = DispatchQueue(label: "conifer.trial")
  private let storage: StorageConfiguration
  private let state = Mutex(State())

  init(_ storage: StorageConfiguration) { self.storage = storage }

  /// Opens the database, closing the one before, as the next process does.
  func start(isOnline: Bool = true) async throws {
    await end()
    let transport = server.transport(.manual(pump))
    var configuration = DatabaseConfiguration(
      namespace: Self.namespace, storage: storage, transport: transport)
    configuration.callbackQueue = .queue(queue)
    configuration.clock = StillClock()
    let database = Database(configuration)
    if !isOnline { database.goOffline() }
    state.withLock { state in
      state.run = Run(database: database, transport: transport)
      state.told = []
      state.sent = []
    }
    transport.watch { [weak self] delivered in
      guard case .toServer(.request(_, let request)) = delivered else { return }
      switch request {
      case .put(let path, _, _), .merge(let path, _):
        self?.state.withLock { $0.sent.append(path.description) }
      default: break
      }
    }
    try await waitUntilIdle()
  }

  /// Closes the database.
  func end() async {
    let run = state.withLock { $0.run.take() }
    await run?.database.close()
  }

  private func running() throws -> Run {
    guard let run = state.withLock({ $0.run }) else {
      throw ClientFailure(description: "No database is open.")
    }
    return run
  }

  /// The database that is open.
  func database() throws -> Database { try running().database }

  /// A place in it.
  func place(_ path: String) throws -> DatabaseReference {
    try database().reference(withPath: path)
  }

  /// Delivers all messages under way, and waits until observers have run.
  func waitUntilIdle() async throws {
    let database = try database()
    repeat {
      // An answer comes after all earlier calls, and a block on the queue after all earlier
      // callbacks.
      for _ in 0..<2 {
        _ = try await database.pendingWriteTotals()
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
      }
    } while pump.step()
  }

  /// Observes, and records under a name what the observer gets: values, or added children.
  func observe(_ name: String, _ query: DatabaseQuery, _ type: DataEventType = .value) {
    query.observe(type) { [weak self] snapshot in
      let text = String(decoding: snapshot.node.json(.export), as: UTF8.self)
      let key = type == .value ? "" : " \(snapshot.key)"
      self?.state.withLock { $0.told.append("\(name)\(key) \(text)") }
    }
  }

  /// What observers got since the last call.
  func told() -> [String] {
    state.withLock { state in
      defer { state.told = [] }
      return state.told
    }
  }

  /// Where writes of this process went, in the order of their arrival.
  var sent: [String] { state.withLock { $0.sent } }

  /// The data that came from the server in this process.
  func counts() throws -> DeliveryCounts { try running().transport.counts }

  /// Has the server refuse the next write.
  func refuseNext() throws { try running().transport.refuse(next: 1) }

  /// Writes in the server's own name.
  func serverSets(_ path: Path, _ node: Node) { server.set(path, node, in: Self.namespace) }

  /// The server's data.
  func serverData(_ path: Path) -> Node { server.data(path, in: Self.namespace) }

  /// Fails unless two things are the same.
  func expect<T: Equatable>(_ what: String, _ found: T, _ wanted: T) throws {
    if found != wanted { throw ClientFailure(description: "\(what): \(found), not \(wanted)") }
  }
}

/// A clock that stands still, so that no timeout is reached on a slow machine.
private struct StillClock: EngineClock {
  var wallTime: Int64 { 1_700_000_000_000 }
  var now: Int64 { 1_000 }
  func wake(at moment: Int64, _ body: @escaping @Sendable () -> Void) {
    if moment <= now { body() }
  }
}
