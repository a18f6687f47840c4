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
    // Two requests, a cancellation, and who it was.
    #expect(try names.count == 4)
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
    #expect(try names == [])
  }

  @Test func `Who is signed out, or whose token the operator ends, is not whom they run as`()
    async throws
  {
    let rules = try SecurityRules(
      json: Array(#"{"rules":{"of":{".write":"auth != null"},"free":{".write":true}}}"#.utf8))
    func configure(_ configuration: inout ServerConfiguration) {
      configuration.rules = rules
      configuration.authenticator = TokenTable(["a": VerifiedToken(uid: "a")])
    }
    let first = try await served(configure)
    let peers = [Peer(first), Peer(first)]
    for (number, peer) in peers.enumerated() {
      #expect(await ask(peer, first, .authenticate(Credential("a")))?.status == .ok)
      for path in ["of", "free"] {
        #expect(await ask(peer, first, .onDisconnectPut(Path("\(path)/\(number)"), 1)) == .ok)
      }
    }
    #expect(await ask(peers[0], first, .unauthenticate) == .ok)
    first.expireTokens(in: "ns")
    await first.waitUntilIdle("ns")
    let second = try await served(configure)
    // They were there to be run.
    #expect(second.data(in: "ns") == ["free": ["0": 1, "1": 1]])
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
      let bytes = try #require(DisconnectHead.record(DisconnectLog(3..<4), token, of: "s").bytes)
      let head = try #require(DisconnectHead(bytes))
      #expect(head.user == token && head.numbers == 3..<4)
      let context = AccessContext(auth: head.user, root: .empty, now: 0)
      #expect(
        rules.decideWrite(["a"], after: ["a": 1], context).isAllowed == (token != empty))
    }
    #expect(DisconnectHead([1, 2]) == nil)
    #expect(DisconnectHead.record(DisconnectLog(), acting, of: "s").bytes == nil)
  }

  @Test func `What is registered again and again takes no more than what is left to be done`()
    async throws
  {
    let first = try await served()
    let peer = Peer(first)
    let text = Node(.string(String(repeating: "x", count: 2000)))
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

  @Test func `What nobody reads whole stays, is told, and keeps no other session's from running`()
    async throws
  {
    let first = try await served()
    #expect(await ask(Peer(first), first, .onDisconnectPut("a", 1)) == .ok)
    let tree = try await backend.tree(named: "ns")
    // One that cannot be read, one that lacks its cancellation, and names that nobody gives.
    let strange =
      ["0-other/0000000000000000", "0-part/0000000000000000", "0-part/head", "odd"]
      .map { "server/disconnect/\($0)" } + [
        "server/disconnect/odd/7fffffffffffffff", "server/other",
      ]
    let part = DisconnectChange.write([NodeChange("b", 1)], base: "b", isMerge: false)
    for name in strange {
      let bytes: [UInt8]? =
        switch name {
        case strange[1]: part.bytes
        case strange[2]: DisconnectHead.record(DisconnectLog(0..<2), nil, of: "").bytes
        default: [77, 1]
        }
      _ = try await backend.commit([.setMetadata(tree, name, bytes)], .relaxed)
    }
    let notes = Gathered<String>()
    let second = try await served {
      $0.logger = Logger(label: "test") { _ in NotingLogHandler(notes: notes) }
    }
    #expect(second.data(in: "ns") == ["a": 1])
    #expect(try names == strange)
    #expect(notes.all.filter { $0.contains("cannot be read") }.count == 3)
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

  @Test(arguments: [0, 1])
  func `One lost record of the rules does not open a database to everybody`(
    _ lost: Int
  ) async throws {
    let rules = Array(#"{"rules":{".read":false}}"#.utf8)
    let first = try await served()
    #expect(try await first.storeRules(json: rules, in: "ns") == .ok)
    let tree = try await backend.tree(named: "ns")
    _ = try await backend.commit([.setMetadata(tree, ServerRecord.rules[lost], nil)], .relaxed)
    #expect(try await served().rulesSource(in: "ns") == rules)
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

/// Commits of such records, and those that fail.
@Suite struct KeptRecordFailureTests {
  private struct Bench {
    var namespace: Namespace
    private var number: UInt64 = 0

    init(sessions: Int = 1, budget: MemoryBudget? = nil) {
      namespace = Namespace(isStored: true, disconnects: budget)
      for id in 1...sessions { connect(UInt64(id)) }
    }

    mutating func connect(_ id: UInt64) {
      _ = namespace.handle(
        .connect(SessionID(rawValue: id), name: "s\(id)", host: "host", lastSession: nil), now: 0)
    }

    mutating func ask(_ request: Request, of id: UInt64 = 1) -> [String] {
      number += 1
      return words(
        namespace.handle(.message(SessionID(rawValue: id), .request(number, request)), now: 0))
    }

    mutating func end(_ id: UInt64 = 1) -> [String] { input(.end(SessionID(rawValue: id))) }

    mutating func input(_ input: Namespace.Input) -> [String] {
      words(namespace.handle(input, now: 0))
    }

    mutating func commits(_ failure: StoreError.Code? = nil) -> [String] {
      input(.committed(failure.map { StoreError($0, "The test says so.") }))
    }

    private func words(_ outputs: [Namespace.Output]) -> [String] {
      outputs.compactMap { output in
        switch output {
        case .commit(let changes, let records):
          (["store"] + changes.map { "\($0.path)" } + records.map { Self.word($0) })
            .joined(separator: " ")
        case .send(_, .response(let number, let response)): "\(number) \(response.status.rawValue)"
        case .answer(_, let response): response.status.rawValue
        default: nil
        }
      }
    }

    /// What is stored, without the session and the noughts before a number: a request with its first path.
    private static func word(_ record: ServerRecord) -> String {
      let last = record.name.split(separator: "/").last ?? ""
      let name = Int(last, radix: 16).map { "\($0)" } ?? String(last)
      guard let bytes = record.bytes else { return "-\(name)" }
      if case .write(let changes, _, _)? = DisconnectChange(bytes), last.count == 16 {
        return "+\(name)=\(changes[0].path)"
      }
      return "+\(name)"
    }
  }

  @Test func `A request is answered once it is stored, and all else waits`() {
    var bench = Bench()
    #expect(bench.ask(.onDisconnectPut("a", 1)) == ["store +0=/a +head"])
    #expect(bench.ask(.get(QueryTarget("x"))) == [])
    #expect(bench.commits() == ["1 ok", "2 ok"])
    #expect(bench.ask(.onDisconnectPut("b", 1)) == ["store +1=/b +head"])
    #expect(bench.commits() == ["3 ok"])
    #expect(bench.end() == ["store /a /b -0 -1 -head"])
    #expect(bench.commits() == [])
    #expect(bench.namespace.root == ["a": 1, "b": 1])
  }

  @Test func `Requests and ends that wait are stored together`() {
    var bench = Bench(sessions: 3)
    #expect(bench.ask(.put("x", 1, hash: nil)) == ["store /x"])
    for id in [1, 1, 2, 3] as [UInt64] {
      #expect(bench.ask(.onDisconnectPut(Path("a/\(id)"), 1), of: id) == [])
    }
    #expect(bench.ask(.onDisconnectCancel("a/1")) == [])
    #expect(bench.ask(.put("y", 1, hash: nil)) == [])
    #expect(
      bench.commits() == ["1 ok", "store +0=/a/1 +1=/a/1 +0=/a/2 +0=/a/3 +2 +head +head +head"])
    #expect(bench.commits() == ["2 ok", "3 ok", "4 ok", "5 ok", "6 ok", "store /y"])
    for id in 1...3 { #expect(bench.end(UInt64(id)) == []) }
    #expect(
      bench.commits() == ["7 ok", "store /a/2 /a/3 -0 -1 -2 -head -0 -head -0 -head"])
    #expect(bench.commits() == [])
    #expect(bench.namespace.sessions.isEmpty && bench.namespace.isSettled)
  }

  @Test func `One that cannot be stored is refused, and does not run`() {
    var bench = Bench()
    #expect(bench.ask(.onDisconnectPut("a", 1)) == ["store +0=/a +head"])
    #expect(bench.commits(.full) == ["1 unavailable"])
    #expect(bench.ask(.onDisconnectPut("b", 1)) == ["store +0=/b +head"])
    #expect(bench.commits() == ["2 ok"])
    #expect(bench.ask(.onDisconnectCancel("b")) == ["store +1 +head"])
    #expect(bench.commits(.full) == ["3 unavailable"])
    #expect(bench.end() == ["store /b -0 -head"])
  }

  @Test(arguments: [StoreError.Code.io, .poisoned])
  func `A commit in doubt is undone by the next one`(_ failure: StoreError.Code) {
    var bench = Bench()
    #expect(bench.ask(.onDisconnectPut("a", 1)) == ["store +0=/a +head"])
    #expect(bench.commits(failure) == ["1 unavailable"])
    #expect(bench.ask(.onDisconnectPut("c", 1)) == ["store -0 -head +0=/c +head"])
    // A poisoned store takes nothing: what was refused since need not be undone.
    #expect(bench.commits(.poisoned) == ["2 unavailable"])
    #expect(bench.ask(.put("x", 1, hash: nil)) == ["store /x -0 -head"])
    #expect(bench.commits() == ["3 ok"])
    #expect(bench.ask(.onDisconnectPut("b", 1)) == ["store +0=/b +head"])
    #expect(bench.commits() == ["4 ok"])
  }

  @Test func `A user who could not be stored is stored by the next commit`() {
    var bench = Bench()
    _ = bench.ask(.onDisconnectPut("a", 1))
    _ = bench.commits()
    #expect(bench.ask(.unauthenticate) == ["store +head"])
    #expect(bench.commits(.full) == ["2 ok"])
    #expect(bench.ask(.put("x", 1, hash: nil)) == ["store /x +head"])
  }

  @Test(arguments: [StoreError.Code.io, .full])
  func `What could not be done at a session's end is done when the store takes writes again`(
    _ failure: StoreError.Code
  ) {
    let budget = MemoryBudget(1 << 20)
    var bench = Bench(sessions: 2, budget: budget)
    for path in ["a", "b"] as [Path] {
      _ = bench.ask(.onDisconnectPut(path, 1))
      _ = bench.commits()
    }
    let held = budget.bytes
    #expect(held > 0)
    #expect(bench.end() == ["store /a /b -0 -1 -head"])
    #expect(bench.commits(failure) == [])
    #expect(budget.bytes == held)
    // Until then the store has them for the next server.
    let undone = failure == .io ? "store /a /b /x -0 -1 +2=/a +3=/b +head" : "store /x"
    #expect(bench.ask(.put("x", 1, hash: nil), of: 2) == [undone])
    let again = failure == .io ? "store /a /b -2 -3 -head" : "store /a /b -0 -1 -head"
    #expect(bench.commits() == ["3 ok", again])
    #expect(bench.commits() == [])
    #expect(bench.namespace.root == ["a": 1, "b": 1, "x": 1])
    #expect(budget.bytes == 0 && bench.namespace.sessions.count == 1)
  }

  @Test func `One session at fault keeps no other from its end`() {
    var bench = Bench(sessions: 3)
    for id in 1...2 as ClosedRange<UInt64> {
      _ = bench.ask(.onDisconnectPut(Path("a/\(id)"), 1), of: id)
      _ = bench.commits()
    }
    _ = bench.ask(.put("x", 1, hash: nil), of: 3)
    for id in 1...2 as ClosedRange<UInt64> { _ = bench.end(id) }
    #expect(bench.commits() == ["3 ok", "store /a/1 /a/2 -0 -head -0 -head"])
    #expect(bench.commits(.tooLarge) == ["store /a/1 -0 -head"])
    // What cannot be stored is given up, and goes with the next commit.
    #expect(bench.commits(.tooLarge) == ["store /a/2 -0 -head -0 -head"])
    #expect(bench.commits() == [])
    #expect(bench.namespace.root == ["a": ["2": 1], "x": 1])
    #expect(bench.namespace.isSettled && bench.namespace.sessions.count == 1)
  }

  @Test func `A session that ends with a request in doubt leaves nothing`() {
    var bench = Bench()
    _ = bench.ask(.onDisconnectPut("a", 1))
    #expect(bench.commits(.io) == ["1 unavailable"])
    #expect(bench.end() == ["store -0 -head -head"])
    #expect(bench.commits() == [])
  }

  @Test func `Rules in doubt leave those that are stored`() throws {
    var bench = Bench()
    let old = try SecurityRules(json: Array(#"{"rules":{".read":false}}"#.utf8))
    let new = try SecurityRules(json: Array(#"{"rules":{".read":true}}"#.utf8))
    #expect(bench.input(.storeRules(1, old)) == ["store +rules +rules-again"])
    #expect(bench.commits() == ["ok"])
    _ = bench.input(.setRules(OpenRules(), isCommon: true))
    #expect(bench.input(.storeRules(2, new)) == ["store +rules +rules-again"])
    #expect(bench.commits(.io) == ["unavailable"])
    guard
      case .commit(_, let records)? = bench.namespace.handle(
        .message(SessionID(rawValue: 1), .request(9, .put("x", 1, hash: nil))), now: 0
      ).first
    else {
      Issue.record("Nothing is stored.")
      return
    }
    #expect(records.map(\.bytes) == [old.source, old.source])
  }

  @Test func `A log that is made anew and may not be there is made anew again`() {
    var bench = Bench()
    let text = Node(.string(String(repeating: "x", count: 40_000)))
    var last: [String] = []
    for number in 1...5 {
      _ = bench.ask(.onDisconnectPut("a", text))
      last = bench.commits()
      if last.count > 1 { break }
      #expect(number < 5)
    }
    // Its requests are there until it is stored.
    #expect(
      last.last == "store -0 -1 -2 -3 +4=/a +head" || last.last == "store -0 -1 -2 +3=/a +head")
    let renewed = last.last?.dropFirst("store ".count) ?? ""
    #expect(bench.commits(.io) == [])
    #expect(bench.ask(.put("x", 1, hash: nil)) == ["store /x \(renewed)"])
    _ = bench.commits()
    #expect(bench.end().first?.hasPrefix("store /a -") == true)
  }
}
