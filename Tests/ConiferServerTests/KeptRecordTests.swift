import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferTree
import ConiferWire
import Logging
import TestSupport
import Testing

@testable import ConiferServer

/// What a server keeps of a database besides its data.
@Suite struct KeptRecordTests {
  private let backend: any StorageBackend
  private let clock = ServerClock(stoppedAt: 1000)

  init() throws {
    var options = StorageOptions(durability: .relaxed)
    options.role = .authority
    backend = try MemoryBackend.open(MemoryStore(), name: "memory", options: options)
  }

  /// A server that is made as after a kill: sessions of earlier ones have not ended.
  private func served(_ configure: (inout ServerConfiguration) -> Void = { _ in }) async throws
    -> Server
  {
    var configuration = ServerConfiguration(clock: clock)
    configure(&configuration)
    let server = Server(configuration)
    try await server.open("ns", in: backend)
    await server.waitUntilIdle("ns")
    return server
  }

  /// A client; asks and waits for the answer, which a commit comes before.
  private func ask(_ peer: Peer, _ server: Server, _ request: Request) async -> Response? {
    let answer = peer.ask(request)
    await server.waitUntilIdle("ns")
    guard answer == nil else { return answer }
    for case .response(_, let response) in peer.messages() { return response }
    return nil
  }

  private var names: [String] {
    get throws {
      try backend.read { (view) throws(StoreError) in
        guard let tree = try view.trees().first(where: { $0.name == "ns" }) else { return [] }
        return try view.metadataNames(tree.id, after: nil, limit: .max)
      }
    }
  }

  @Test func `What sessions of a killed server left runs when the next one opens the store, once`()
    async throws
  {
    let first = try await served()
    let (one, two) = (Peer(first), Peer(first))
    #expect(await ask(one, first, .put("online", ["one": true, "two": true], hash: nil)) == .ok)
    #expect(await ask(one, first, .onDisconnectPut("online/one", .empty)) == .ok)
    #expect(
      await ask(one, first, .onDisconnectPut("seen", Node(.serverValue(.timestamp)))) == .ok)
    #expect(
      await ask(
        two, first,
        .onDisconnectMerge(
          "online", [NodeChange("two", .empty), NodeChange("left", Node(3, priority: 7))])) == .ok)
    #expect(
      await ask(two, first, .onDisconnectPut("n", Node(.serverValue(.increment(1))))) == .ok)
    clock.advance(by: 500)
    let second = try await served()
    let expected: Node = ["online": ["left": Node(3, priority: 7)], "seen": 1500, "n": 1]
    #expect(second.data(in: "ns") == expected)
    #expect(try names == [])
    let third = try await served()
    #expect(third.data(in: "ns") == expected)
    #expect(third.sessions(in: "ns") == [])
  }

  @Test func `What a session that ends left is gone, and what it cancelled does not run`()
    async throws
  {
    let first = try await served()
    let (one, two) = (Peer(first), Peer(first))
    for path in ["a", "b"] as [Path] {
      #expect(await ask(one, first, .onDisconnectPut(path, 1)) == .ok)
    }
    #expect(await ask(one, first, .onDisconnectCancel("a")) == .ok)
    #expect(await ask(two, first, .onDisconnectPut("c", 1)) == .ok)
    #expect(await ask(two, first, .onDisconnectPut("c", 2)) == .ok)
    two.session.end()
    await first.waitUntilIdle("ns")
    #expect(first.data(in: "ns") == ["c": 2])
    #expect(await ask(Peer(first), first, .onDisconnectCancel("d")) == .ok)
    // Two requests and a cancellation; the user is nobody.
    #expect(try names.count == 3)
    let second = try await served()
    #expect(second.data(in: "ns") == ["b": 1, "c": 2])
  }

  @Test func `They run as the user whom the session had last, by the rules of then`() async throws {
    let rules = try SecurityRules(
      json: Array(#"{"rules":{"of":{"$uid":{".write":"auth.uid === $uid"}}}}"#.utf8))
    let tokens = TokenTable([
      "a": VerifiedToken(uid: "a", expires: 1200), "b": VerifiedToken(uid: "b"),
      "admin": VerifiedToken(uid: "", isAdmin: true),
    ])
    func configure(_ configuration: inout ServerConfiguration) {
      (configuration.rules, configuration.authenticator) = (rules, tokens)
    }
    let first = try await served(configure)
    func peer(_ token: String) async -> Peer {
      let peer = Peer(first)
      #expect(await ask(peer, first, .authenticate(Credential(token)))?.status == .ok)
      return peer
    }
    let (stays, changes, admin) = (await peer("a"), await peer("b"), await peer("admin"))
    #expect(await ask(stays, first, .onDisconnectPut("of/a", 1)) == .ok)
    #expect(await ask(changes, first, .onDisconnectPut("of/b", 1)) == .ok)
    #expect(await ask(changes, first, .unauthenticate) == .ok)
    #expect(await ask(admin, first, .onDisconnectPut("anywhere", 1)) == .ok)
    // A token that expired does not take what its session left.
    clock.advance(by: 1000)
    first.tick()
    await first.waitUntilIdle("ns")
    let second = try await served(configure)
    #expect(second.data(in: "ns") == ["anywhere": 1, "of": ["a": 1]])
  }

  @Test func `An administrator who acts as a user does so after a restart`() async throws {
    let rules = try SecurityRules(
      json: Array(#"{"rules":{".write":"auth.token.kind === 'x' && auth.provider === 'p'"}}"#.utf8))
    let acting = VerifiedToken(
      uid: "u", claims: ["kind": "x", "provider_id": "p"], expires: .max)
    let overriding = VerifiedToken(overriding: [
      "uid": "u", "token": ["kind": "x"], "provider": "p",
    ])
    let empty = VerifiedToken(overriding: .empty)
    for token in [acting, overriding, empty] {
      let bytes = try #require(ServerRecord.user(token, of: "s").bytes)
      #expect(VerifiedToken(record: bytes) == token)
      let context = AccessContext(auth: VerifiedToken(record: bytes), root: .empty, now: 0)
      #expect(
        rules.decideWrite(["a"], after: ["a": 1], context).isAllowed == (token != empty))
    }
    #expect(VerifiedToken(record: [1, 2]) == nil)
  }

  @Test func `What is registered again and again takes no more than what is left to be done`()
    async throws
  {
    let first = try await served()
    let peer = Peer(first)
    let text = Node(.string(String(repeating: "x", count: 500)))
    for number in 0..<300 {
      #expect(await ask(peer, first, .onDisconnectPut("presence", text)) == .ok)
      let kept: Path = number % 100 == 0 ? Path("kept/\(number)") : "presence/at"
      #expect(await ask(peer, first, .onDisconnectPut(kept, Node(.integer(Int64(number))))) == .ok)
    }
    // Each presence replaces the one before, and what was below it.
    #expect(try names.count < 150)
    let second = try await served()
    #expect(
      second.data(in: "ns") == [
        "kept": ["0": 0, "100": 100, "200": 200], "presence": ["at": 299],
      ])
    #expect(try names == [])
  }

  @Test func `A request that cannot be read stays, is told, and keeps no other from running`()
    async throws
  {
    let first = try await served()
    #expect(await ask(Peer(first), first, .onDisconnectPut("a", 1)) == .ok)
    let tree = try await backend.tree(named: "ns")
    let strange = "server/disconnect/0-other/0000000000000000"
    for name in [strange, "server/disconnect/odd", "server/other"] {
      _ = try await backend.commit([.setMetadata(tree, name, [77, 1])], .relaxed)
    }
    let notes = Gathered<String>()
    let second = try await served {
      $0.logger = Logger(label: "test") { _ in NotingLogHandler(notes: notes) }
    }
    #expect(second.data(in: "ns") == ["a": 1])
    #expect(try names == [strange, "server/disconnect/odd", "server/other"])
    #expect(notes.all.filter { $0.contains("cannot be read") }.count == 1)
  }

  @Test func `Rules that were stored are there again; those of a file count before them`()
    async throws
  {
    let rules = Array(#"{"rules":{".read":false}} // mine"#.utf8)
    let first = try await served()
    #expect(try await first.storeRules(json: rules, in: "ns") == .ok)
    await #expect(throws: RulesError.self) { try await first.storeRules(json: [1], in: "ns") }
    #expect(first.rulesSource(in: "ns") == rules)
    let second = try await served()
    #expect(second.rulesSource(in: "ns") == rules)
    let third = try await served { $0.keepsRules = false }
    #expect(third.rulesSource(in: "ns") != rules)
    let other = Array(#"{"rules":{".write":false}}"#.utf8)
    #expect(try await third.storeRules(json: other, in: "ns") == .ok)
    #expect(third.rulesSource(in: "ns") == other)
    let fourth = try await served()
    #expect(fourth.rulesSource(in: "ns") == rules)
    // In memory they are set at once.
    #expect(try await fourth.storeRules(json: other, in: "memory") == .ok)
    #expect(fourth.rulesSource(in: "memory") == other)
  }

  @Test func `A database whose rules cannot be read is not served as if it had none`() async throws
  {
    let tree = try await backend.tree(named: "ns")
    _ = try await backend.commit([.setMetadata(tree, "server/rules", [1])], .relaxed)
    do {
      _ = try await served()
      Issue.record("It is served.")
    } catch let error as StoreError {
      #expect(error.code == .newerFormat)
    }
    _ = try await served { $0.keepsRules = false }
  }
}

/// Commits of such records that fail.
@Suite struct KeptRecordFailureTests {
  private struct Bench {
    var namespace = Namespace(isStored: true)
    private var number: UInt64 = 0

    init() {
      _ = namespace.handle(
        .connect(SessionID(rawValue: 1), name: "s", host: "host", lastSession: nil), now: 0)
    }

    mutating func ask(_ request: Request) -> [String] {
      number += 1
      return words(
        namespace.handle(.message(SessionID(rawValue: 1), .request(number, request)), now: 0))
    }

    mutating func end() -> [String] {
      words(namespace.handle(.end(SessionID(rawValue: 1)), now: 0))
    }

    mutating func commits(_ failure: StoreError.Code? = nil) -> [String] {
      words(
        namespace.handle(.committed(failure.map { StoreError($0, "The test says so.") }), now: 0))
    }

    private func words(_ outputs: [Namespace.Output]) -> [String] {
      outputs.compactMap { output in
        switch output {
        case .commit(let changes, let records):
          (["store"] + changes.map { "\($0.path)" }
            + records.map { "\($0.bytes == nil ? "-" : "+")\(Self.short($0.name))" })
            .joined(separator: " ")
        case .send(_, .response(let number, let response)): "\(number) \(response.status.rawValue)"
        default: nil
        }
      }
    }

    /// The last part of a name, without the noughts before a number.
    private static func short(_ name: String) -> String {
      let last = name.split(separator: "/").last ?? ""
      return last == "user" ? "user" : String(Int(last, radix: 16) ?? -1)
    }
  }

  @Test func `A request is answered once it is stored, and all else waits`() {
    var bench = Bench()
    #expect(bench.ask(.onDisconnectPut("a", 1)) == ["store -user +0"])
    #expect(bench.ask(.get(QueryTarget("x"))) == [])
    #expect(bench.commits() == ["1 ok", "2 ok"])
    #expect(bench.ask(.onDisconnectPut("b", 1)) == ["store +1"])
    #expect(bench.commits() == ["3 ok"])
    #expect(bench.end() == ["store /a /b -0 -1 -user"])
    #expect(bench.commits() == [])
  }

  @Test func `One that cannot be stored is refused, and does not run`() {
    var bench = Bench()
    #expect(bench.ask(.onDisconnectPut("a", 1)) == ["store -user +0"])
    #expect(bench.commits(.full) == ["1 unavailable"])
    // The user was not stored either.
    #expect(bench.ask(.onDisconnectPut("b", 1)) == ["store -user +1"])
    #expect(bench.commits() == ["2 ok"])
    #expect(bench.ask(.onDisconnectCancel("b")) == ["store +2"])
    #expect(bench.commits(.full) == ["3 unavailable"])
    #expect(bench.end() == ["store /b -0 -1 -2 -user"])
  }

  @Test func `A commit in doubt is undone by the next one`() {
    var bench = Bench()
    #expect(bench.ask(.onDisconnectPut("a", 1)) == ["store -user +0"])
    #expect(bench.commits(.io) == ["1 unavailable"])
    #expect(bench.ask(.put("x", 1, hash: nil)) == ["store /x -0"])
    #expect(bench.commits() == ["2 ok"])
    #expect(bench.ask(.onDisconnectPut("b", 1)) == ["store -user +1"])
    #expect(bench.commits() == ["3 ok"])
  }

  @Test func `What could not be done at a session's end is left for the next server`() {
    var bench = Bench()
    for path in ["a", "b"] as [Path] {
      _ = bench.ask(.onDisconnectPut(path, 1))
      _ = bench.commits()
    }
    #expect(bench.end() == ["store /a /b -0 -1 -user"])
    #expect(bench.commits(.io) == [])
    _ = bench.namespace.handle(
      .connect(SessionID(rawValue: 2), name: "t", host: "host", lastSession: nil), now: 0)
    let outputs = bench.namespace.handle(
      .message(SessionID(rawValue: 2), .request(9, .put("x", 1, hash: nil))), now: 0)
    let commit = outputs.compactMap { output -> [ServerRecord]? in
      if case .commit(let changes, let records) = output {
        // What may have been written is taken back with it.
        #expect(changes.map(\.path) == ["a", "b", "x"])
        return records
      }
      return nil
    }.first
    let kept = (commit ?? []).filter { $0.bytes != nil }.map(\.name)
    #expect(kept.count == 2)
    #expect(kept.allSatisfy { $0.hasPrefix("server/disconnect/s/000000000000000") })
  }
}
