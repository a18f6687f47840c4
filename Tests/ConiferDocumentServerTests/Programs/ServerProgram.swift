import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import TestSupport
import Testing

/// A random program of commits and listens, with streams that break and go on, and restarts of the server.
struct ServerProgram {
  private struct Client {
    let link: DocumentLink
    var listener: Listener
    var queries: [TargetID: DocumentQuery] = [:]
    var nextTarget: TargetID = 2
  }

  private let store: TestStore
  private let seed: UInt64
  private var random: Seeded
  private var rig: Rig
  private let history: DocumentHistoryLimits
  private var clients: [Client] = []
  private var writerLink: DocumentLink
  private let writer = ReliableWriter()
  private var batches = 0
  private var model = PlainModel()
  /// The commits that were answered, by their times.
  private var commits: [(time: Timestamp, writes: [Mutation])] = []
  /// What clients showed at moments, with what the queries were.
  private var shown: [(Listener.State, [TargetID: DocumentQuery])] = []

  init(_ store: TestStore, _ seed: UInt64) throws {
    self.store = store
    self.seed = seed
    random = Seeded(seed)
    history = DocumentHistoryLimits(changes: random.pick([4, 30, 10_000]))
    rig = try Rig(store, seed: seed, history: history)
    writerLink = rig.link(seed: seed)
    connect()
  }

  private mutating func connect() {
    clients = (0..<2).map { number in
      let link = rig.link(seed: seed &+ UInt64(number))
      return Client(link: link, listener: Listener(link.transport.service))
    }
    setFaults()
  }

  private mutating func setFaults() {
    writerLink.faults = LinkFaults(refusedOpens: 0.1, cuts: 0.05, lostAnswers: 0.2)
    for link in clients.map(\.link) + [writerLink] {
      link.delay(.zero ... .milliseconds(random.pick([0, 5, 50])))
    }
    for client in clients { client.link.faults = LinkFaults(refusedOpens: 0.1, cuts: 0.01) }
  }

  /// Runs so many steps, lets all come to rest, and compares everything with the plain model.
  mutating func run(_ steps: Int) async throws {
    for _ in 0..<steps {
      try await step()
      for _ in 0..<random.below(6) {
        await rig.server.waitUntilIdle()
        guard rig.pump.step() else { break }
        note()
      }
    }
    try await rest()
    compare()
    try await rig.server.close()
  }

  private mutating func note() {
    for client in clients where client.listener.now.isAtMoment {
      shown.append((client.listener.now, client.queries))
    }
  }

  // MARK: Steps

  private mutating func step() async throws {
    switch random.below(20) {
    case 0..<8: try await commit()
    case 8..<11:
      batches += 1
      writer.open(writerLink.transport.service)
      writer.send([
        try merge("counters/\(random.below(2))", [("n", .increment(1)), ("at", .serverTimestamp)]),
        try merge("counters/all", [("n", .increment(1))]),
      ])
    case 11..<14: listen()
    case 14: unlisten()
    case 15: clients.randomElement(using: &random)?.link.cut(arrives: random.chance(50))
    case 16: clients.randomElement(using: &random)?.link.hold(.toClient)
    case 17: for client in clients { client.link.release() }
    case 18: rig.clock.advance(Int64(random.below(100)) - 50)
    default: if store != .memory, random.chance(30) { try await restart() }
    }
    reopen()
  }

  private mutating func restart() async throws {
    rig = try await restarted()
    let earlier = clients
    connect()
    for (place, client) in earlier.enumerated() {
      clients[place].queries = client.queries
      clients[place].nextTarget = client.nextTarget
      clients[place].listener = Listener(
        clients[place].link.transport.service, after: client.listener.now)
      resume(place, client.listener.now)
    }
  }

  private mutating func restarted() async throws -> Rig {
    let old = rig
    let new = try await rig.restarted(store, history: history)
    // Some of what was said before the end arrives; the rest is lost.
    for link in clients.map(\.link) + [writerLink] {
      if random.chance(50) { link.cut() }
      link.release()
    }
    await old.waitUntilIdle()
    writerLink = new.link(seed: seed)
    return new
  }

  private mutating func reopen() {
    for (place, client) in clients.enumerated() where client.listener.now.closed != nil {
      let before = client.listener.now
      clients[place].listener = Listener(client.link.transport.service, after: before)
      resume(place, before)
    }
    if !writer.now.waiting.isEmpty { writer.open(writerLink.transport.service) }
  }

  private mutating func resume(_ place: Int, _ before: Listener.State) {
    for (id, query) in clients[place].queries.sorted(by: { $0.key < $1.key }) {
      // A client goes on only from a moment, and only with what was whole then.
      guard let whole = before.moment, let paths = whole.current[id] else {
        clients[place].listener.add(id, query)
        continue
      }
      clients[place].listener.restore(id, paths, whole.documents)
      let usesToken = random.chance(70)
      clients[place].listener.add(
        id, query, token: usesToken ? whole.token : [],
        version: usesToken ? .zero : whole.version,
        expectedCount: random.chance(70) ? paths.count : nil)
    }
  }

  private mutating func listen() {
    let place = random.below(clients.count)
    guard clients[place].queries.count < 6, let query = try? anyQuery() else { return }
    let id = clients[place].nextTarget
    clients[place].nextTarget += 2
    clients[place].queries[id] = query
    clients[place].listener.add(id, query)
  }

  private mutating func unlisten() {
    let place = random.below(clients.count)
    guard let id = clients[place].queries.keys.sorted().randomElement(using: &random) else {
      return
    }
    clients[place].queries[id] = nil
    clients[place].listener.remove(id)
  }

  private mutating func anyQuery() throws -> DocumentQuery {
    let n = field("n")
    let base = random.pick([
      try query("rooms"), try query("rooms/r1/messages"), group("messages"), try query("counters"),
    ])
    switch random.below(8) {
    case 0: return only("rooms/r\(random.below(5))")
    case 1: return base
    case 2: return try base.filtered(.field(n, .lessThan, .integer(Int64(random.below(10)))))
    case 3: return try base.filtered(.field(field("tags"), .arrayContains, 3))
    case 4: return try base.ordered(by: n).limited(to: 1 + random.below(3))
    case 5: return try base.ordered(by: n, .descending).limited(toLast: 1 + random.below(3))
    case 6: return try base.limited(to: 2)
    default:
      return try base.filtered(
        .or([.field(n, .greaterThan, 6), .field(field("flag"), .equal, true)])
      ).ordered(by: n, .descending).limited(to: 3)
    }
  }

  private mutating func commit() async throws {
    var writes: [Mutation] = []
    for _ in 0...random.below(4) { writes.append(try anyWrite()) }
    let refusal: StatusCode?
    do throws(StatusError) {
      let result = try await rig.service.commit(writes, token: nil)
      model.make(writes, at: result.commitTime)
      commits.append((result.commitTime, writes))
      return
    } catch { refusal = error.code }
    #expect(refusal == model.refusal(writes), "seed \(seed)")
  }

  private mutating func anyWrite() throws -> Mutation {
    let path = random.pick([
      "rooms/r\(random.below(5))", "rooms/r1/messages/m\(random.below(4))",
      "rooms/r2/messages/m\(random.below(2))", "messages/m\(random.below(2))",
    ])
    let number = WriteValue.value(.integer(Int64(random.below(10))))
    let data: [(String, WriteValue)] = [
      (
        "n", random.pick([number, number, number, .increment(2), "text", .minimum(4), .value(2.5)])
      ),
      random.pick([
        ("flag", .value(.boolean(random.chance(50)))), ("tags", .arrayUnion([3])),
        ("tags", .arrayRemove([3])), ("at", .serverTimestamp), ("m", ["a": number]),
      ]),
    ]
    switch random.below(10) {
    case 0..<4: return try set(path, data)
    case 4..<6: return try merge(path, data + [("x", random.chance(50) ? .delete : 1)])
    case 6: return try update(path, data)
    case 7: return try delete(path)
    case 8: return try Mutation.verify(document(path), if: .exists(random.chance(80)))
    default:
      let version = model.documents[document(path)]?.version ?? .zero
      return try set(path, data, if: random.chance(70) ? .updateTime(version) : .exists(false))
    }
  }

  // MARK: Rest

  private mutating func rest() async throws {
    for link in clients.map(\.link) + [writerLink] {
      link.faults = LinkFaults()
      link.release()
    }
    for _ in 0..<4 {
      reopen()
      await rig.waitUntilIdle()
      note()
    }
  }

  private mutating func compare() {
    let final = writer.now
    #expect(final.refused.isEmpty, "seed \(seed)")
    #expect(final.waiting.count == 0, "seed \(seed)")
    #expect(final.made.count == batches, "seed \(seed)")
    let all = (commits + final.made).sorted { $0.time < $1.time }
    #expect(Set(all.map(\.time)).count == all.count, "seed \(seed)")
    var states: [(time: Timestamp, model: PlainModel)] = [(.zero, PlainModel())]
    var model = PlainModel()
    for commit in all {
      model.make(commit.writes, at: commit.time)
      states.append((commit.time, model))
    }
    #expect(
      model.documents[document("counters/all")]?.fields?["n"] ?? 0 == .integer(Int64(batches)),
      "seed \(seed)")
    for (state, queries) in shown { compare(state, queries, states) }
    for client in clients {
      let now = client.listener.now
      #expect(now.complaints == [], "seed \(seed)")
      #expect(now.rejected.isEmpty, "seed \(seed)")
      for id in client.queries.keys { #expect(now.targets[id]?.isCurrent == true, "seed \(seed)") }
      if !client.queries.isEmpty { compare(now, client.queries, states, isLast: true) }
    }
  }

  /// What a client shows at a moment is what its queries give of that moment.
  private func compare(
    _ state: Listener.State, _ queries: [TargetID: DocumentQuery],
    _ states: [(time: Timestamp, model: PlainModel)], isLast: Bool = false
  ) {
    guard let model = states.last(where: { $0.time <= state.version })?.model else { return }
    for (id, query) in queries where state.targets[id]?.isCurrent == true {
      let wanted = (isLast ? states.last?.model ?? model : model).evaluate(query)
      let order = query.evaluateOrder(wanted.map(\.path))
      let found = state.documents(id, query)
      let isRight =
        found.map(\.path) == order && Set(found.map(\.content)) == Set(wanted.map(\.content))
      #expect(
        isRight,
        "seed \(seed), \(query.canonical), \(state.version): \(found.map(\.path)), not \(order)")
    }
  }
}

extension Document {
  /// What is compared: not when it was read.
  fileprivate var content: Document { Document(path, state, version: version) }
}

/// The random programs.
@Suite struct ServerProgramTests {
  @Test(
    "What a stream tells, replayed, is what a query of that moment gives",
    arguments: TestStore.allCases)
  func programs(_ store: TestStore) async throws {
    for seed in Seeded.seeds(store == .memory ? 40 : 12) {
      print("documents server program on \(store.rawValue): CONIFER_SEED=\(seed)")
      var program = try ServerProgram(store, seed)
      try await program.run(150)
    }
  }
}
