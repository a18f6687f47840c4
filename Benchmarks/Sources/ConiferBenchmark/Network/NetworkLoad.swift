#if Network
  import Conifer
  import ConiferQuery
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import ConiferWebSocket
  import ConiferWire
  import Foundation
  import Histogram
  import Logging
  import Synchronization

  /// What clients and a server do together over sockets of this machine, both in this process.
  public struct NetworkLoad: Sendable {
    private static let namespace = "load"
    private let clients: Int
    private let writes: Int
    private let listeners: Int
    private let rounds: Int

    /// A load.
    ///
    /// - Parameters:
    ///   - clients: how many write at once.
    ///   - writes: how many writes each makes.
    ///   - listeners: how many listeners the writing clients have in all, and how many connections a
    ///     change is fanned out to.
    ///   - rounds: how often each is measured; figures are medians, percentiles are over all rounds,
    ///     and memory a connection is the most.
    public init(clients: Int, writes: Int, listeners: Int, rounds: Int) {
      self.clients = clients
      self.writes = writes
      self.listeners = listeners
      self.rounds = rounds
    }

    /// Measures; one line a figure.
    ///
    /// - Throws: also when a write or the news of it was lost.
    public func run() async throws -> [String] {
      var (drains, loads, deletes) = ([Double](), [Double](), [Double]())
      // Only at first is memory asked of the system for each of them.
      var memory = 0.0
      var peaks: [Double] = []
      var fan = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
      for _ in 0..<rounds {
        memory = max(memory, try await serving { try await fanOut($0, into: &fan) })
        drains.append(try await serving { try await drain($0) })
        let load = try await serving { try await write($0) }
        loads.append(load.speed)
        peaks.append(load.memory)
        deletes.append(try await serving { try await delete($0) })
      }
      return [
        String(
          format: "drain: one client, %d offline writes: %.0f writes/s", writes, median(drains)),
        String(
          format: "load: %d clients, %d writes each, %d listeners: %.0f writes/s, +%.0f MB",
          clients, writes, listeners, median(loads), median(peaks)),
        String(
          format: "3500 deletes in one push: %.1f ms until the listener is told", median(deletes)),
        String(
          format: "fan-out to %d connections: %.2f / %.2f ms (p50 / p99)", listeners,
          Double(fan.valueAtPercentile(50)) / 1000, Double(fan.valueAtPercentile(99)) / 1000),
        String(
          format: "memory a connection with one listener, client and server: %.1f KB",
          memory / 1024),
      ]
    }

    private struct Serving {
      let server: Server
      let url: String

      func client() -> Database {
        var configuration = DatabaseConfiguration(
          namespace: namespace, storage: nil, transport: .webSocket(url))
        configuration.callbackQueue = .queue(DispatchQueue(label: "client"))
        return Database(configuration)
      }

      func data(_ path: Path) -> Node { server.data(path, in: namespace) }
    }

    /// A new server for the length of a closure.
    private func serving<R>(_ body: (Serving) async throws -> R) async throws -> R {
      let server = Server(ServerConfiguration())
      var configuration = HTTPServerConfiguration(host: "127.0.0.1", port: 0)
      configuration.logger.logLevel = .critical
      configuration.timeouts.stop = .zero
      let http = HTTPServer(server, configuration)
      let port = try await http.start()
      do {
        let result = try await body(Serving(server: server, url: "ws://127.0.0.1:\(port)"))
        await http.stop()
        return result
      } catch {
        await http.stop()
        throw error
      }
    }

    /// Writes a second of a queue that was filled offline.
    private func drain(_ serving: Serving) async throws -> Double {
      let database = serving.client()
      database.goOffline()
      let top = database.reference()
      var newest: WriteReceipt?
      for number in 0..<writes { newest = top.child("k\(number)").enqueue(.set(number)) }
      _ = try await newest?.durable
      let watch = Watch()
      database.goOnline()
      try await newest?.acknowledged()
      let seconds = watch.sample.wall
      await database.close()
      guard serving.data(.root).childCount == writes else {
        throw BenchmarkFailure.lost("drain", "\(writes) writes")
      }
      return Double(writes) / seconds
    }

    /// Writes a second of all clients until every listener has every write, and the megabytes of
    /// memory that came in addition.
    private func write(_ serving: Serving) async throws -> (speed: Double, memory: Double) {
      let databases = (0..<clients).map { _ in serving.client() }
      let rooms = max(1, listeners / max(1, clients))
      let counts = Counts(clients: clients, rooms: rooms)
      for (index, database) in databases.enumerated() {
        for room in 0..<rooms {
          database.reference(withPath: "rooms/r\(room)").observe(.value) {
            counts.set(index, room, $0.node.childCount)
          }
        }
      }
      let memory = SystemFigures.anonymousMemory
      let watch = Watch()
      let peak = try await withThrowingTaskGroup(of: Int.self) { group in
        for (index, database) in databases.enumerated() {
          group.addTask {
            var newest: WriteReceipt?
            var peak = 0
            for number in 0..<writes {
              let path = "rooms/r\(number % rooms)/c\(index)-\(number)"
              newest = database.reference(withPath: path).enqueue(.set(number))
              guard number % 500 == 499 else { continue }
              // An app that writes faster than it is answered, but not all at once.
              try await newest?.acknowledged()
              peak = max(peak, SystemFigures.anonymousMemory)
            }
            try await newest?.acknowledged()
            return peak
          }
        }
        return try await group.reduce(0, max)
      }
      while counts.total < clients * clients * writes {
        guard watch.sample.wall < 600 else {
          throw BenchmarkFailure.lost("load", "\(clients * clients * writes - counts.total) news")
        }
        try await Task.sleep(for: .milliseconds(1))
      }
      let seconds = watch.sample.wall
      for database in databases { await database.close() }
      return (Double(clients * writes) / seconds, Double(max(0, peak - memory)) / Double(1 << 20))
    }

    /// Milliseconds until a listener was told of 3,500 deletes at once.
    private func delete(_ serving: Serving) async throws -> Double {
      let keys = (0..<3500).map { Key("k\($0)") }
      serving.server.set(
        "wide", Node(children: keys.map { ($0, Node(.string(String(repeating: "x", count: 40)))) }),
        in: Self.namespace)
      let database = serving.client()
      let counts = Counts(clients: 1, rooms: 1)
      database.reference(withPath: "wide").observe(.value) {
        counts.set(0, 0, $0.node.isEmpty ? -1 : $0.node.childCount)
      }
      try await wait { counts.total == keys.count }
      let watch = Watch()
      serving.server.write(
        keys.map { NodeChange(Path("wide").appending($0), .empty) }, in: Self.namespace)
      try await wait { counts.total == -1 }
      let seconds = watch.sample.wall
      await database.close()
      return seconds * 1000
    }

    /// Bytes of memory a connection; how long after a change each was told goes into the histogram.
    private func fanOut(
      _ serving: Serving, into fan: inout Histogram<UInt64>
    ) async throws -> Double {
      let transport = WebSocketTransport(serving.url)
      let arrivals = Arrivals()
      serving.server.set("fan", 0, in: Self.namespace)
      let memory = SystemFigures.anonymousMemory
      let connections = (0..<listeners).map { _ in
        transport.connect(ConnectionRequest(namespace: Self.namespace)) { arrivals.take($0) }
      }
      for connection in connections {
        connection.send(
          .request(1, .listen(QueryTarget("fan"), tag: nil, hash: "", compound: nil)))
      }
      try await wait { arrivals.answers == listeners }
      let each = Double(SystemFigures.anonymousMemory - memory) / Double(max(1, listeners))
      for number in 1...5 {
        let start = ContinuousClock.now
        arrivals.begin()
        serving.server.set("fan", Node(.integer(Int64(number))), in: Self.namespace)
        try await wait { arrivals.moments.count == listeners }
        for moment in arrivals.moments {
          fan.record(UInt64(max(1, (moment - start) / .microseconds(1))))
        }
      }
      for connection in connections { connection.close() }
      return each
    }

    private func wait(_ test: () -> Bool) async throws {
      let watch = Watch()
      while !test() {
        guard watch.sample.wall < 120 else { throw BenchmarkFailure.lost("network", "news") }
        try await Task.sleep(for: .milliseconds(1))
      }
    }

    /// What each listener saw last.
    private final class Counts: Sendable {
      private let values: Mutex<[Int]>
      private let rooms: Int

      init(clients: Int, rooms: Int) {
        self.rooms = rooms
        values = Mutex([Int](repeating: 0, count: clients * rooms))
      }

      func set(_ client: Int, _ room: Int, _ count: Int) {
        values.withLock { $0[client * rooms + room] = count }
      }

      var total: Int { values.withLock { $0.reduce(0, +) } }
    }

    /// When news came over many connections.
    private final class Arrivals: Sendable {
      private let state = Mutex((answers: 0, moments: [ContinuousClock.Instant]()))

      var answers: Int { state.withLock { $0.answers } }
      var moments: [ContinuousClock.Instant] { state.withLock { $0.moments } }

      func begin() { state.withLock { $0.moments = [] } }

      func take(_ event: TransportEvent) {
        guard case .message(let message) = event else { return }
        let now = ContinuousClock.now
        state.withLock { state in
          switch message {
          case .response: state.answers += 1
          case .push: state.moments.append(now)
          default: break
          }
        }
      }
    }
  }
#endif
