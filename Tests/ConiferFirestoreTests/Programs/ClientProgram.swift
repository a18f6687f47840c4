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

/// A random program of two clients and a server: writes, listens, gets, networks that fail, disks that fail, changes of
/// user, evictions, restarts of clients and of the server. At the end everything comes to rest and is compared.
struct ClientProgram {
  static let database = DatabaseID(project: "programs")

  private let store: EngineStore
  private let seed: UInt64
  private var random: Seeded
  private var server: DocumentServer
  private let serverFaults: DiskFaults
  private let scratches: [Scratch]
  private let pump: DocumentPump
  private var clients: [ProgramClient] = []
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
    let clock = PumpClock(pump)
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
    _ clock: @escaping @Sendable () -> ConiferDocument.Timestamp
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
    return try makeServer(storage, history: history, faults) {
      ConiferDocument.Timestamp(unchecked: 1_700_000_000 + pump.now.components.seconds, 0)
    }
  }

  /// Tokens are those of `EngineSignIn`; nobody writes what is forbidden.
  static let access = DocumentAccess(
    user: { token in
      token.hasPrefix("token of ") ? DocumentUser(String(token.dropFirst(9))) : nil
    },
    allows: { user, request in
      if case .write(let path, _, _) = request {
        return user != nil && path.collection.id != "forbidden"
      }
      return true
    })

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
    for _ in 0..<steps {
      try await step()
      await settle()
      for _ in 0..<random.below(8) { if try await !deliver() { break } }
    }
    try await rest()
    try await compare()
    for client in clients { await client.end() }
    try await server.close()
  }

  /// Delivers one message or alarm, and lets everybody do what follows.
  private mutating func deliver() async throws -> Bool {
    let isDelivered = pump.step()
    await settle()
    if isStrict { try await record() }
    return isDelivered
  }

  private func settle() async {
    for client in clients { await client.engine.settle() }
    await server.settle()
    for client in clients { await client.engine.settle() }
  }

  // MARK: Steps

  private mutating func step() async throws {
    let client = random.pick(clients)
    switch random.below(44) {
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
    case 31: client.become(client.user == "ann" ? "bob" : "ann")
    case 32: try? await client.engine.collectGarbage(downTo: 0)
    case 33: client.faults.fail(chances())
    case 34: client.faults.heal()
    case 35: server.expireTokens()
    case 36: client.transact()
    case 37: try await restartServer()
    case 38:
      var chances = chances()
      chances.made = random.pick([0, 50])
      serverFaults.fail(chances)
    case 39: serverFaults.heal()
    default: if !isStrict { try get(client) }
    }
  }

  /// How often uses of a disk that fails do.
  private mutating func chances() -> DiskFaults.Chances {
    let share = random.pick([10, 50, 100])
    switch random.below(3) {
    case 0: return DiskFaults.Chances(commits: share)
    case 1: return DiskFaults.Chances(reads: share)
    default: return DiskFaults.Chances(commits: share, reads: share)
    }
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
    let n = try ConiferDocument.FieldPath(["n"])
    let rooms = DocumentQuery(.collection(try CollectionPath("rooms")), in: Self.database)
    let query =
      switch random.below(8) {
      case 0: rooms
      case 1: try rooms.filtered(.field(n, .lessThan, .integer(Int64(random.below(10)))))
      case 2: try rooms.ordered(by: n).limited(to: 1 + random.below(3))
      case 3: try rooms.ordered(by: n, .descending).limited(toLast: 2)
      case 4: DocumentQuery(.document(try DocumentPath("rooms/r1")), in: Self.database)
      case 5: DocumentQuery(.group("rooms"), in: Self.database)
      case 6: DocumentQuery(.collection(try CollectionPath("log")), in: Self.database)
      default: DocumentQuery(.collection(try CollectionPath("counters")), in: Self.database)
      }
    client.listen(query)
  }

  private mutating func write(_ client: ProgramClient) throws {
    lastWrite += 1
    let name = "\(client.name)\(lastWrite)"
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

  private mutating func writeAsServer() async throws {
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
    switch random.below(4) {
    case 0: client.ask { engine, told in engine.get(path, source) { _ in told() } }
    case 1: client.ask { engine, told in engine.get(rooms, source) { _ in told() } }
    case 2:
      client.ask { engine, told in engine.aggregate(rooms, [.count], source) { _ in told() } }
    default: client.ask { engine, told in engine.waitForPendingWrites { _ in told() } }
    }
  }

  // MARK: Moments

  private mutating func record() async throws {
    let all = try await everything()
    if all != states.last { states.append(all) }
    for client in clients {
      for heard in client.listeners {
        for shown in heard.takeConfirmed() {
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
  private func everything() async throws -> [Document] {
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
    }
    // The other user's writes are sent, too.
    for turn in 0..<3 {
      for client in clients where turn > 0 {
        client.become(client.user == "ann" ? "bob" : "ann")
      }
      await settle()
      for _ in 0..<5_000 { if try await !deliver() { break } }
      for client in clients { try await checkQueue(client) }
    }
  }

  /// What waits for an answer now would wait forever.
  private func checkQueue(_ client: ProgramClient) async throws {
    let writes = try await client.engine.pendingWrites(after: nil, limit: .max, rejectedOnly: false)
    try #require(
      !writes.contains { $0.state.isWaiting },
      "seed \(seed): \(client.name) has writes of \(client.user) that wait")
  }

  private func compare() async throws {
    let all = try await everything()
    var made = 0
    for client in clients {
      made += try await compare(client, all)
    }
    guard case .integer(let count) = value(all, "counters/c", "n") ?? 0 else {
      Issue.record("seed \(seed): the counter is no number")
      return
    }
    // The client keeps the token of its stream, so that the server knows what comes again.
    #expect(count == made, "seed \(seed): increments are lost, or were made twice")
    let transactions = clients.map(\.transactions.now)
    let wanted = transactions.reduce(0) { $0 + $1.made }
    let unknown = transactions.reduce(0) { $0 + $1.unknown }
    guard case .integer(let times) = value(all, "counters/t", "n") ?? 0 else {
      Issue.record("seed \(seed): the counter of transactions is no number")
      return
    }
    #expect(times >= wanted, "seed \(seed): transactions are lost")
    #expect(times <= wanted + unknown, "seed \(seed): transactions did not see each other")
    #expect(transactions.allSatisfy { $0.open == 0 }, "seed \(seed): a transaction does not end")
  }

  private func value(_ all: [Document], _ path: String, _ field: String) -> DocumentValue? {
    all.first { "\($0.path)" == path }?.fields?[field]
  }

  /// - Returns: how often the client added to the counter.
  private func compare(_ client: ProgramClient, _ all: [Document]) async throws -> Int {
    #expect(client.open.count == 0, "seed \(seed): \(client.name) waits for an answer")
    for heard in client.listeners { compare(heard, client, all) }
    var counted = 0
    for write in client.writes {
      let isMade = try await compare(write, client, all)
      if isMade, case .counting = write.kind { counted += 1 }
    }
    return counted
  }

  private func compare(_ heard: HeardListener, _ client: ProgramClient, _ all: [Document]) {
    let state = heard.now
    let what = "seed \(seed): \(client.name) listens to \(heard.query.canonical)"
    #expect(state.complaints.isEmpty, "\(what): \(state.complaints.prefix(3))")
    // A store that failed ends a listen; the app would listen again.
    if let error = state.error {
      #expect(error.code == .unavailable, "\(what): \(error)")
      return
    }
    let found = state.last.map { Array($0.documents) } ?? []
    let wanted = heard.query.evaluate(all)
    let isRight = found.map(\.content) == wanted.map(\.content)
    #expect(isRight, "\(what): \(found.map(\.path)), not \(wanted.map(\.path))")
    #expect(state.last?.isFromCache == false, "\(what) from the cache")
    #expect(state.last?.hasPendingWrites == false, "\(what) with waiting writes")
  }

  /// - Returns: whether the write was made.
  private func compare(
    _ write: ProgramWrite, _ client: ProgramClient, _ all: [Document]
  ) async throws -> Bool {
    let what = "seed \(seed): \(write.name) of \(write.user)"
    guard let receipt = write.receipt.withLock({ $0 }) else { return false }
    #expect(write.told.count <= 1, "\(what) was told its end \(write.told.count) times")
    let isThere = value(all, "log/\(write.name)", "by") != nil
    let id: WriteReceipt.ID?
    do { id = try await receipt.id } catch {
      // It was never queued.
      #expect(!isThere, "\(what) was made although it failed")
      #expect(write.told.count == 1, "\(what) failed, and nobody was told")
      return false
    }
    guard let id else { return false }
    let outcome = try await client.engine.outcome(of: id)
    switch (write.kind, outcome) {
    case (.refused(let code), .rejected):
      #expect(!isThere, "\(what) was made although it was refused")
      #expect(write.told.allSatisfy { $0 == code }, "\(what): \(write.told)")
    case (.counting, .acknowledged), (.shared, .acknowledged), (.joining, .acknowledged):
      #expect(isThere, "\(what) is lost")
      #expect(write.told.allSatisfy { $0 == nil }, "\(what): \(write.told)")
      if case .joining = write.kind {
        guard case .array(let names) = value(all, "sets/s", "of") else {
          Issue.record("\(what): the set is lost")
          return true
        }
        #expect(names.filter { $0 == .string(write.name) }.count == 1, "\(what) is not in the set")
      }
    default: Issue.record("\(what) ended as \(outcome)")
    }
    return outcome == .acknowledged
  }
}

extension WriteState {
  /// Whether it has no final answer.
  fileprivate var isWaiting: Bool { if case .rejected = self { false } else { true } }
}

extension Document {
  /// What is compared: not when it was read, nor as of when.
  fileprivate var content: Document { Document(path, state) }
}
