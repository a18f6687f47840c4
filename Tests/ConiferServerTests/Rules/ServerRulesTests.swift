import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Testing

/// Rules as sessions meet them.
@Suite struct ServerRulesTests {
  private let clock = ServerClock(stoppedAt: 1_000_000)
  private let tokens = TokenTable([
    "t-ada": VerifiedToken(uid: "ada", expires: 1_060_000), "t-bob": VerifiedToken(uid: "bob"),
    "t-admin": VerifiedToken(uid: "root", isAdmin: true),
  ])
  private let server: Server
  private let denied = Response(.permissionDenied, reason: "Permission denied")

  init() throws {
    server = Server(ServerConfiguration(authenticator: tokens, clock: clock))
    server.set(
      .root, ["users": ["ada": ["name": "Ada"]], "items": ["i1": ["owner": "ada"]]], in: "ns")
    try server.setRules(json: Array(Self.file.utf8), in: "ns")
  }

  private static let file = """
    {"rules": {
      "users": {"$uid": {".read": "auth.uid === $uid", ".write": "auth.uid === $uid",
        ".validate": "newData.hasChildren(['name'])",
        "name": {".validate": "newData.isString()"},
        "seen": {".validate": "newData.val() == now"},
        "balance": {".validate": "newData.val() >= 0"}}},
      "items": {".read": "query.orderByChild == 'owner' && query.equalTo == auth.uid",
        ".indexOn": "owner"},
      "scores": {".read": true, ".write": "root.child('open').val() === true", ".indexOn": ".value"},
      "open": {".read": true}}}
    """

  private func peer(_ token: String? = nil) -> Peer {
    let peer = Peer(server)
    if let token { peer.ask(.authenticate(Credential(token))) }
    return peer
  }

  @Test func `Sessions may do what the rules grant their bearers`() {
    let (ada, bob, nobody) = (peer("t-ada"), peer("t-bob"), peer())
    #expect(ada.listen("users/ada") == .ok && ada.put("users/ada/name", "A.") == .ok)
    #expect(ada.pushes == [.overwrite("users/ada/name", "A.", tag: nil)])
    for other in [bob, nobody] {
      #expect(other.listen("users/ada") == denied && other.pushes.isEmpty)
      #expect(other.ask(.get(QueryTarget("users/ada/name"))) == denied)
      #expect(other.put("users/ada/name", "B.") == denied)
    }
    #expect(ada.listen("users") == denied && ada.listen(.root) == denied)
    #expect(peer("t-admin").put("users/ada", 1) == .ok)
  }

  @Test func `A write of several places is done whole or not at all`() {
    let ada = peer("t-ada")
    #expect(ada.merge("users/ada", [("name", "A"), ("balance", 1)]) == .ok)
    #expect(ada.merge("users/ada", [("name", "B"), ("balance", -1)]) == denied)
    #expect(ada.merge(.root, [("users/ada/name", "B"), ("users/bob/name", "B")]) == denied)
    #expect(ada.merge("users/ada", [("name", .empty), ("balance", 2)]) == denied)
    #expect(server.data("users/ada", in: "ns") == ["name": "A", "balance": 1])
  }

  @Test func `Server values are resolved when rules see them`() {
    let ada = peer("t-ada")
    let increment = Node(.serverValue(.increment(.integer(-2))))
    #expect(ada.put("users/ada/seen", Node(.serverValue(.timestamp))) == .ok)
    #expect(ada.put("users/ada/seen", 5) == denied)
    #expect(
      ada.put("users/ada/balance", 3) == .ok && ada.put("users/ada/balance", increment) == .ok)
    #expect(ada.put("users/ada/balance", increment) == denied)
    #expect(server.data("users/ada/balance", in: "ns") == 1)
  }

  @Test func `Queries of one's own are listened to as they were asked`() throws {
    let mine = try QuerySpec.default.ordered(byChild: "owner").equal(to: "ada")
    let ada = peer("t-ada")
    #expect(ada.listen("items") == denied)
    #expect(ada.listen("items", mine, tag: 1) == .ok)
    #expect(peer("t-bob").listen("items", mine, tag: 1) == denied)
    // The order alone changes no data, and yet the rules know it when they are asked again.
    let rules = "{\"rules\": {\"items\": {\".read\": \"query.orderByChild == 'owner'\"}}}"
    let all = try QuerySpec.default.ordered(byChild: "owner")
    try server.setRules(json: Array(rules.utf8), in: "ns")
    #expect(ada.news().isEmpty)
    #expect(ada.listen("items", all) == .ok)
    try server.setRules(json: Array(rules.utf8), in: "ns")
    #expect(ada.news().isEmpty)
  }

  @Test func `Indexes come with the rules`() throws {
    let byOwner = try QuerySpec.default.ordered(byChild: "owner").equal(to: "ada")
    let byValue = try QuerySpec.default.ordered(by: .value).limited(toLast: 2)
    let byName = try QuerySpec.default.ordered(byChild: "name").limited(toLast: 2)
    let ada = peer("t-ada")
    #expect(ada.ask(.get(QueryTarget("items", byOwner)))?.warnings == [])
    #expect(ada.listen("scores", byValue, tag: 2) == .ok)
    #expect(ada.listen("scores", byName, tag: 3)?.warnings == ["no_index"])
    server.setRules(OpenRules(), in: "ns")
    #expect(ada.ask(.get(QueryTarget("scores", byName)))?.warnings == [])
  }

  @Test func `The index of a wildcard is none of a place with a name`() throws {
    let file = """
      {"rules": {".read": true, "lists": {"$list": {".indexOn": ["n"]},
        "named": {}, "sorted": {".indexOn": "m"}}}}
      """
    try server.setRules(json: Array(file.utf8), in: "ns")
    let byN = try QuerySpec.default.ordered(byChild: "n").limited(toLast: 2)
    let byM = try QuerySpec.default.ordered(byChild: "m").limited(toLast: 2)
    let nobody = peer()
    let cases: [(Path, QuerySpec, [String])] = [
      ("lists/any", byN, []), ("lists/any", byM, ["no_index"]),
      ("lists/named", byN, ["no_index"]), ("lists/sorted", byN, ["no_index"]),
      ("lists/sorted", byM, []), ("lists/any/x", byN, ["no_index"]), ("lists", byN, ["no_index"]),
    ]
    for (number, (path, spec, warnings)) in cases.enumerated() {
      #expect(nobody.listen(path, spec, tag: number)?.warnings == warnings, "\(path) \(spec)")
    }
  }

  /// Rules that ask a file, as an app's own may.
  private struct Asking: AccessRules {
    let file: SecurityRules

    func allowsRead(_ target: QueryTarget, _ context: AccessContext) -> Bool {
      file.allowsRead(target, context)
    }
    func allowsWrite(_ path: Path, after: Node, _ context: AccessContext) -> Bool {
      file.allowsWrite(path, after: after, context)
    }
    func declaresIndex(_ index: QueryIndex, at path: Path) -> Bool? {
      file.declaresIndex(index, at: path)
    }
  }

  @Test func `Rules that ask a file have its indexes`() throws {
    let file = try SecurityRules(
      json: #"{"rules": {".read": true, "lists": {".indexOn": ["n"]}}}"#)
    server.setRules(Asking(file: file), in: "ns")
    let byN = try QuerySpec.default.ordered(byChild: "n").limited(toLast: 2)
    let byM = try QuerySpec.default.ordered(byChild: "m").limited(toLast: 2)
    let nobody = peer()
    #expect(nobody.listen("lists", byN, tag: 1)?.warnings == [])
    #expect(nobody.listen("lists", byM, tag: 2)?.warnings == ["no_index"])
    server.setRules(ClosureRules(), in: "ns")
    #expect(nobody.ask(.get(QueryTarget("lists", byM)))?.warnings == [])
  }

  @Test func `Somebody of whom no claim is known is not nobody`() throws {
    let file = """
      {"rules": {"in": {".write": "auth != null"}, "me": {".write": "auth.uid != null"}}}
      """
    try server.setRules(json: Array(file.utf8), in: "ns")
    let admin = peer("t-admin")
    admin.ask(.authenticate(Credential("t-admin", override: .claims(.empty))))
    #expect(admin.put("in", 1) == .ok)
    #expect(admin.put("me", 1) == denied)
    admin.ask(.authenticate(Credential("t-admin", override: .nobody)))
    #expect(admin.put("in", 2) == denied)
  }

  @Test func `Listens that other rules do not allow end, the others go on`() throws {
    let (ada, nobody) = (peer("t-ada"), peer())
    ada.listen("users/ada")
    ada.listen("scores")
    nobody.listen("scores")
    try server.setRules(json: Array("{\"rules\": {\"scores\": {\".read\": true}}}".utf8), in: "ns")
    #expect(ada.news() == [.listenRevoked("users/ada", .default)])
    server.set("users/ada/name", "B", in: "ns")
    server.set("scores/s", 1, in: "ns")
    #expect(ada.news() == [.overwrite("scores/s", 1, tag: nil)])
    #expect(nobody.news() == [.overwrite("scores/s", 1, tag: nil)])
  }

  @Test func `Listens end with the token that they were granted to`() {
    let ada = peer("t-ada")
    ada.listen("users/ada")
    clock.advance(by: 60_000)
    server.tick()
    #expect(ada.news().last == .listenRevoked("users/ada", .default))
    #expect(ada.put("users/ada/name", "x") == denied)
  }

  @Test
  func `What is to happen at a disconnect is checked when it is asked for, and when it happens`() {
    server.set("open", true, in: "ns")
    let (early, late, kept) = (peer(), peer(), peer())
    #expect(early.ask(.onDisconnectPut("scores/early", 1)) == .ok)
    #expect(late.ask(.onDisconnectPut("scores/late", 1)) == .ok)
    #expect(kept.ask(.onDisconnectPut("users/x", 1)) == denied)
    early.session.end()
    server.set("open", false, in: "ns")
    #expect(peer().ask(.onDisconnectPut("scores/never", 1)) == denied)
    late.session.end()
    #expect(server.data("scores", in: "ns") == ["early": 1])
  }

  @Test func `A file with an error changes nothing, and files are given back`() throws {
    #expect(server.rulesSource(in: "ns") == Array(Self.file.utf8))
    #expect(throws: RulesError(line: 1, column: 2, message: "Expected a string.")) {
      try server.setRules(json: Array("{rules}".utf8), in: "ns")
    }
    #expect(server.rulesSource(in: "ns") == Array(Self.file.utf8))
    #expect(peer("t-ada").listen("users/ada") == .ok)
    #expect(
      server.rulesSource(in: "other") == Array("{\"rules\":{\".read\":true,\".write\":true}}".utf8))
    try server.setRules(json: Array("{/* c */\"rules\":{\".read\":\"\n true\",}}".utf8), in: "ns")
    #expect(
      server.rulesSource(in: "ns", strict: true)
        == Array("{\"rules\":{\".read\":\"\\n true\"}}".utf8))
    server.setRules(ClosureRules(), in: "ns")
    #expect(server.rulesSource(in: "ns") == Array("{\"rules\":{}}".utf8))
  }

  @Test func `Databases without rules of their own have those of the configuration`() throws {
    let closed = Server(ServerConfiguration(rules: try SecurityRules(json: "{\"rules\": {}}")))
    #expect(Peer(closed).put("a", 1) == denied)
    #expect(Peer(closed).listen("a") == denied)
    #expect(Peer(Server()).put("a", 1) == .ok)
  }
}
