import ConiferDocument
import ConiferDocumentServer
import ConiferDocumentSync
import ConiferEngine
import ConiferFirestore
import ConiferStorage
import ConiferWire
import Logging
import Synchronization
import TestSupport
import Testing

/// A random program of two clients and a server: writes, listens, gets, changes of the queue, networks, disks and token
/// providers that fail, changes of user, a time of day that jumps, evictions, restarts of clients and of the server. At the
/// end everything comes to rest and is compared.
struct ClientProgram {
  static let database = DatabaseID(project: "programs")

  private let store: EngineStore
  let seed: UInt64
  private var random: Seeded
  private var server: DocumentServer
  private let serverFaults: DiskFaults
  private let scratches: [Scratch]
  private let pump: DocumentPump
  private let clock: PumpClock
  private(set) var clients: [ProgramClient] = []
  /// Whether each client has one listener at most, and asks for nothing else: then it shows moments of the server.
  private let isStrict: Bool
  /// The documents of the server after each step that changed them.
  private var states: [[Document]] = [[]]
  private var lastWrite = 0
  private var serverTime = ConiferDocument.Timestamp.zero

  init(_ store: EngineStore, _ seed: UInt64) throws {
    self.store = store
    self.seed = seed
    random = Seeded(seed)
    isStrict = random.chance(40)
    pump = DocumentPump(seed: seed)
    serverFaults = DiskFaults(seed: seed)
    scratches = try (0..<3).map { _ in try Scratch() }
    let history = random.pick([5, 50, 10_000])
    server = try Self.makeServer(
      store, scratches[2], history: history, serverFaults, pump)
    clock = PumpClock(pump)
    for (number, name) in ["a", "b"].enumerated() {
      let seed = seed &* 10 &+ UInt64(number)
      let way = ProgramLink(to: Self.database, of: server, .pump(pump), seed: seed)
      clients.append(
        ProgramClient(
          name, store.configuration(at: scratches[number].store), way, clock,
          store == .memory ? .strongest : .process, seed: seed))
    }
    setFaults()
  }

  /// A server on a store that outlives it.
  ///
  /// - Parameter history: how many changes it remembers.
  static func makeServer(
    _ storage: StorageConfiguration, history: Int, _ faults: DiskFaults,
    _ clock: @escaping @Sendable () -> ConiferDocument.Timestamp,
    access: DocumentAccess = ClientProgram.access(logsAreOwn: false)
  ) throws -> DocumentServer {
    var options = storage.options
    options.durability = .process
    return try DocumentServer(
      DocumentServerConfiguration(
        storage: storage.with(options).failing(faults), access: access,
        history: DocumentHistoryLimits(changes: history), clock: clock,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
  }

  /// A server by the time of a pump, on the same store as the one before it.
  private static func makeServer(
    _ store: EngineStore, _ scratch: Scratch, history: Int, _ faults: DiskFaults,
    _ pump: DocumentPump
  ) throws -> DocumentServer {
    let storage = (store == .memory ? .log : store).configuration(at: scratch.store)
    let clock: @Sendable () -> ConiferDocument.Timestamp = {
      ConiferDocument.Timestamp(unchecked: 1_700_000_000 + pump.now.components.seconds, 0)
    }
    return try makeServer(
      storage, history: history, faults, clock, access: access(logsAreOwn: true))
  }

  /// Tokens are those of `EngineSignIn`; nobody writes what is forbidden.
  ///
  /// - Parameter logsAreOwn: whether nobody logs what another user wrote.
  static func access(logsAreOwn: Bool) -> DocumentAccess {
    DocumentAccess(
      user: { token in
        token.hasPrefix("token of ") ? DocumentUser(String(token.dropFirst(9))) : nil
      },
      allows: { user, request in
        guard case .write(let path, _, let after) = request else { return true }
        guard let user, path.collection.id != "forbidden" else { return false }
        return !logsAreOwn || path.collection.id != "log" || after?["by"] == .string(user.id)
      })
  }

  private mutating func setFaults() {
    let isCalm = random.chance(20)
    for client in clients {
      client.link.faults =
        isCalm ? LinkFaults() : LinkFaults(refusedOpens: 0.1, cuts: 0.02, lostAnswers: 0.1)
      client.way.delay(.zero ... .milliseconds(random.pick([0, 20, 500])))
    }
  }

  /// Runs so many steps, lets all come to rest, and compares everything.
  mutating func run(_ steps: Int) async throws {
    // A store that cannot be opened is not what is tried here.
    await waitUntilIdle()
    for _ in 0..<steps {
      if !isStrict, random.chance(20) { try hurry() }
      try await step()
      await waitUntilIdle()
      for _ in 0..<random.below(8) { if try await !deliver() { break } }
    }
    try await rest()
    try await compare()
    try await compareReads()
    for client in clients { await client.end() }
    try await server.close()
  }

  /// Delivers one message or alarm, and lets everybody do what follows.
  mutating func deliver() async throws -> Bool {
    let isDelivered = pump.step()
    await waitUntilIdle()
    if isStrict { try await record() }
    return isDelivered
  }

  func waitUntilIdle() async {
    for client in clients { await client.waitUntilIdle() }
    await server.waitUntilIdle()
    for client in clients { await client.waitUntilIdle() }
  }

  // MARK: Steps

  /// Writes and delivers while nobody waits for what comes of it, so that the order of that is not the seed's alone.
  private mutating func hurry() throws {
    for _ in 0..<2 + random.below(6) {
      if random.chance(40) { _ = pump.step() } else { try write(random.pick(clients)) }
    }
  }

  private mutating func step() async throws {
    let client = random.pick(clients)
    switch random.below(54) {
    case 0..<14: try write(client)
    case 14..<18: try listen(client)
    case 18:
      if let heard = client.listeners.randomElement(using: &random) { client.unlisten(heard) }
    case 19..<22: try await writeAsServer()
    case 22: client.setNetwork(!client.isNetworkWanted)
    case 23: client.link.cut(arrives: random.chance(50))
    case 24: client.link.isReachable.toggle()
    case 25: client.link.hold(random.chance(50) ? .toClient : .toServer)
    case 26..<29: client.link.release()
    case 29..<31: if store != .memory { await client.restart() }
    case 31:
      if await !client.hasWritesOfUnknown() { client.become(client.user == "ann" ? "bob" : "ann") }
    case 32: try? await client.engine.collectGarbage(downTo: 0)
    case 33: client.faults.fail(faults())
    case 34: client.faults.heal()
    case 35: server.expireTokens()
    case 36: client.transact()
    case 37: try await restartServer()
    case 38: serverFaults.fail(faults())
    case 39: serverFaults.heal()
    case 40: client.provide(random.pick([.failure, .never]))
    case 41, 42: client.healProvider(answersLate: random.chance(50))
    case 43: clock.jump(by: random.pick([-86_400_000, -60_000, 60_000, 86_400_000]))
    case 44..<46: client.changeQueue(random.next())
    case 46..<48: client.waitForWrites()
    case 48: if !isStrict { client.keepSynced(random.chance(50), try query()) }
    default: if !isStrict { try get(client) }
    }
  }

  /// How often uses of a disk that fails do, and how many of the commits are made all the same.
  private mutating func faults() -> DiskFaults.Chances {
    let share = random.pick([10, 50, 100])
    var chances = DiskFaults.Chances(
      commits: random.chance(67) ? share : 0, made: random.pick([0, 50, 100]))
    if chances.commits == 0 || random.chance(33) { chances.reads = share }
    chances.endsReads = random.chance(10)
    return chances
  }

  /// The server ends, and another one begins on its store. It may remember fewer changes: listens that go on from before
  /// them are told everything anew.
  private mutating func restartServer() async throws {
    // A store that cannot be opened is not what is tried here.
    serverFaults.heal()
    let isSudden = random.chance(50)
    if isSudden { for client in clients { client.link.cut(arrives: random.chance(50)) } }
    try await server.close()
    let history = random.pick([0, 5, 50, 10_000])
    server = try Self.makeServer(
      store, scratches[2], history: history, serverFaults, pump)
    for client in clients { client.way.lead(to: server) }
  }

  private mutating func listen(_ client: ProgramClient) throws {
    guard client.listeners.count < (isStrict ? 1 : 5) else { return }
    let other = random.chance(30) ? client.listeners.randomElement(using: &random)?.query : nil
    let options = ListenOptions(
      includesMetadataChanges: random.chance(70),
      source: isStrict || random.chance(70) ? .default : .cache)
    client.listen(try other ?? query(), options)
  }

  private mutating func query() throws -> DocumentQuery {
    let n = try ConiferDocument.FieldPath(["n"])
    let rooms = DocumentQuery(.collection(try CollectionPath("rooms")), in: Self.database)
    return
      switch random.below(8)
    {
    case 0: rooms
    case 1: try rooms.filtered(.field(n, .lessThan, .integer(Int64(random.below(10)))))
    case 2: try rooms.ordered(by: n).limited(to: 1 + random.below(3))
    case 3: try rooms.ordered(by: n, .descending).limited(toLast: 2)
    case 4: DocumentQuery(.document(try DocumentPath("rooms/r1")), in: Self.database)
    case 5: DocumentQuery(.group("rooms"), in: Self.database)
    case 6: DocumentQuery(.collection(try CollectionPath("log")), in: Self.database)
    default: DocumentQuery(.collection(try CollectionPath("counters")), in: Self.database)
    }
  }

  private mutating func write(_ client: ProgramClient) throws {
    if random.chance(10) { return try writeTwins(client) }
    let name = nextName(client)
    let log = try Mutation.set(
      DocumentPath("log/\(name)"),
      [("by", .value(.string(client.user))), ("at", .serverTimestamp)],
      in: Self.database)
    let (kind, others): (ProgramWrite.Kind, [Mutation]) =
      switch random.below(10) {
      case 0..<3: (.counting, [try add("counters/c", [("n", .increment(1))])])
      case 3..<7: (.shared, [try shared(), try shared()])
      case 7: (.joining, [try add("sets/s", [("of", .arrayUnion([.string(name)]))])])
      case 8: (.refused(.permissionDenied), [try add("forbidden/f", [("n", .increment(1))])])
      default:
        (
          .refused(.notFound),
          [
            try Mutation.update(
              DocumentPath("missing/m"), [(ConiferDocument.FieldPath(["n"]), 1)], in: Self.database)
          ]
        )
      }
    client.write(
      ProgramWrite(name, kind, by: client.user), random.chance(50) ? [log] + others : others + [log]
    )
  }

  private mutating func nextName(_ client: ProgramClient) -> String {
    lastWrite += 1
    return "\(client.name)\(lastWrite)"
  }

  /// Makes the same write twice, which changes each of its documents twice in the same way.
  private mutating func writeTwins(_ client: ProgramClient) throws {
    let count = try add("counters/twins", [("n", .increment(1))])
    let other = try shared()
    for _ in 0..<2 {
      client.write(
        ProgramWrite(nextName(client), .twin, by: client.user), [count, other, count, other])
    }
  }

  private func add(_ path: String, _ data: [(String, WriteValue)]) throws -> Mutation {
    try Mutation.merge(DocumentPath(path), data, in: Self.database)
  }

  private mutating func shared() throws -> Mutation {
    let path = try DocumentPath(
      random.chance(80) ? "rooms/r\(random.below(5))" : "halls/h/rooms/r\(random.below(2))")
    let n = WriteValue.value(.integer(Int64(random.below(10))))
    switch random.below(6) {
    case 0: return try Mutation.delete(path)
    case 1:
      return try Mutation.merge(path, [("n", .increment(2)), ("x", .delete)], in: Self.database)
    case 2:
      return try Mutation.merge(
        path, [("m", ["a": n]), ("at", .serverTimestamp)], in: Self.database)
    case 3: return try Mutation.merge(path, [("n", n), ("x", 1)], in: Self.database)
    default: return try Mutation.set(path, [("n", n)], in: Self.database)
    }
  }

  mutating func writeAsServer() async throws {
    // The disk may fail, also behind the commit.
    let write = try shared()
    do { try await server.commit([write], in: Self.database) } catch {
      #expect(error.code == "unavailable", "seed \(seed): \(error)")
    }
    if isStrict { try await record() }
  }

  private mutating func get(_ client: ProgramClient) throws {
    let path = try DocumentPath("rooms/r\(random.below(5))")
    let rooms = DocumentQuery(.collection(try CollectionPath("rooms")), in: Self.database)
    let source = random.pick([GetSource.default, .server, .cache])
    switch random.below(3) {
    case 0: client.ask { engine, told in engine.get(path, source) { _ in told() } }
    case 1: client.ask { engine, told in engine.get(rooms, source) { _ in told() } }
    default:
      client.ask { engine, told in engine.aggregate(rooms, [.count], source) { _ in told() } }
    }
  }

  // MARK: Moments

  private mutating func record() async throws {
    let all = try await everything()
    if all != states.last { states.append(all) }
    for client in clients {
      let hidesDocuments = client.takeHidesDocuments()
      for heard in client.listeners {
        for shown in heard.takeConfirmed() where !hidesDocuments {
          let isMoment = states.contains {
            heard.query.evaluate($0).map(\.content) == shown.map(\.content)
          }
          #expect(
            isMoment,
            "seed \(seed): \(client.name) shows \(shown.map(\.path)) of \(heard.query.canonical)")
        }
      }
    }
  }

  /// All documents of the server.
  func everything() async throws -> [Document] {
    try await serverFaults.pausing { try await documents() }
  }

  private func documents() async throws -> [Document] {
    var all: [Document] = []
    for group in ["rooms", "log", "counters", "sets", "missing", "forbidden"] {
      all += try await server.documents(DocumentQuery(.group(group), in: Self.database)).map {
        Document($0.path, .found($0.fields), version: $0.updateTime)
      }
    }
    return all
  }

  // MARK: Rest

  private mutating func rest() async throws {
    serverFaults.heal()
    for client in clients {
      client.faults.heal()
      client.link.faults = LinkFaults()
      client.way.delay(.zero ... .zero)
      client.link.release()
      client.link.isReachable = true
      client.setNetwork(true)
      client.healProvider(answersLate: true)
    }
    await waitUntilIdle()
    for client in clients { client.listenAgain() }
    // The other user's writes are sent, too.
    for turn in 0..<3 {
      for client in clients where turn > 0 {
        client.become(client.user == "ann" ? "bob" : "ann")
      }
      await waitUntilIdle()
      for _ in 0..<5_000 { if try await !deliver() { break } }
      if turn == 0 { try await endChanges() }
      for client in clients { try await checkQueue(client) }
    }
  }

  /// Waits for the changes of the queue that are under way, and delivers what follows.
  private mutating func endChanges() async throws {
    let clients = clients
    try await eventually("seed \(seed): a change of the queue does not end") {
      await waitUntilIdle()
      return clients.allSatisfy { $0.changes.count == 0 }
    }
    for _ in 0..<5_000 { if try await !deliver() { break } }
  }

  /// What waits for an answer now would wait forever.
  private func checkQueue(_ client: ProgramClient) async throws {
    let writes = try await client.engine.pendingWrites(after: nil, limit: .max, rejectedOnly: false)
    try #require(
      !writes.contains { $0.state.isWaiting },
      "seed \(seed): \(client.name) has writes of \(client.user) that wait: \(writes.map { "\($0.id) \($0.state)" })"
    )
  }
}

extension WriteState {
  /// Whether it has no final answer.
  fileprivate var isWaiting: Bool { if case .rejected = self { false } else { true } }
}
