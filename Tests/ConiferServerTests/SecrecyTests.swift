import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Testing

/// No answer tells of data that may not be read.
@Suite struct SecrecyTests {
  private let denied = Response(.permissionDenied, reason: "Permission denied")
  /// The two states that nobody may tell apart.
  static let states: [Node] = [
    [:], ["secret": ["u1": 7], "box": ["u1": 7]],
    ["secret": ["u1": ["n": 5, ".priority": 2]], "box": ["u1": ["n": "text"]]],
  ]

  /// Nobody may read or write `secret`, everybody may write `box` and not read it.
  private func server(_ data: Node) -> Server {
    let rules = ClosureRules(
      read: { target, _ in target.path.first == "public" },
      write: { path, _, _ in path.first == "public" || path.first == "box" })
    let server = Server(ServerConfiguration(rules: rules, clock: ServerClock(stoppedAt: 1000)))
    server.set(.root, data, in: "ns")
    return server
  }

  static let increment = Node(.serverValue(.increment(1)))

  static let requests: [Request] = [
    .put("secret/u1/.priority", 1, hash: nil), .put("secret/u1/.priority", .empty, hash: nil),
    .put("secret/u1/n/.priority", increment, hash: nil), .put("secret/u1/n", increment, hash: nil),
    .put("secret/u1", 1, hash: nil), .put("secret/u1", 1, hash: ""),
    .put("secret/u1", 1, hash: NodeHash.hash(7)), .put("secret", .empty, hash: nil),
    .put("secret/u1", Node(.serverValue(.other(name: "x"))), hash: nil),
    .merge("secret/u1", [NodeChange(".priority", 1)]),
    .merge("secret", [NodeChange("u1/.priority", 1), NodeChange("u2", 1)]),
    .merge(.root, [NodeChange("public/x", 1), NodeChange("secret/u1/.priority", 1)]),
    .onDisconnectPut("secret/u1/.priority", 1), .onDisconnectPut("secret/u1", increment),
    .onDisconnectMerge("secret", [NodeChange("u1/.priority", 1)]),
    .get(QueryTarget("secret/u1")), .get(QueryTarget("secret", .first(1))),
    .listen(QueryTarget("secret/u1"), tag: nil, hash: NodeHash.hash(7), compound: nil),
    .listen(QueryTarget("box/u1"), tag: nil, hash: NodeHash.hash(7), compound: nil),
    // Who may write may not try values out, nor ask whether there are any.
    .put("box/u1", 1, hash: NodeHash.hash(7)), .put("box/u1", 1, hash: ""),
    .put("box/u1/.priority", 1, hash: nil), .put("box/u1/n/.priority", 1, hash: nil),
    .merge("box/u1", [NodeChange(".priority", 1)]),
    .onDisconnectPut("box/u1/.priority", 1), .put("box/u1/n", increment, hash: nil),
  ]

  @Test(arguments: requests)
  func `An answer is the same whatever is there that may not be read`(request: Request) async {
    var answers: [Response?] = []
    var others: [ServerAnswer] = []
    for state in Self.states {
      let server = server(state)
      let peer = Peer(server)
      answers.append(peer.ask(request))
      #expect(peer.pushes.isEmpty)
      others.append(await self.server(state).perform(request, as: nil, in: "ns"))
    }
    for answer in answers { #expect(answer == answers[0]) }
    for answer in others { #expect("\(answer)" == "\(others[0])") }
  }

  @Test func `A condition on data that may not be read is refused, and nothing written`() {
    let server = server(["box": ["u1": 7]])
    let peer = Peer(server)
    #expect(peer.put("box/u1", 8, hash: NodeHash.hash(7)) == denied)
    #expect(server.data("box/u1", in: "ns") == 7)
    #expect(peer.put("box/u1", 8) == .ok)
  }

  @Test func `A priority of what may not be read is written where there is data`() {
    let server = server(["box": ["u1": 7]])
    let peer = Peer(server)
    #expect(peer.put("box/u1/.priority", 3) == .ok)
    #expect(server.data("box/u1/.priority", in: "ns") == 3)
    #expect(peer.put("box/u2/.priority", 3) == .ok)
    #expect(server.data("box/u2", in: "ns").isEmpty)
    #expect(peer.merge("box", [("u3/.priority", 3), ("u4", 1)]) == .ok)
    #expect(server.data("box", in: "ns") == ["u1": Node(7, priority: 3), "u4": 1])
    // Whoever may read is told.
    #expect(peer.put("public/u2/.priority", 3)?.status == .failure)
  }

  @Test func `A number that may not be read is not told to who adds to it`() async {
    let server = server(["box": ["n": 41], "public": ["n": 41]])
    let plus = Node(.serverValue(.increment(0)))
    for request: Request in [
      .put("box/n", plus, hash: nil), .merge("box", [NodeChange("n", plus), NodeChange("m", 1)]),
    ] {
      let answer = await server.perform(request, as: nil, in: "ns")
      #expect(answer.response == .ok)
      #expect(answer.written.contains { $0.node == plus })
      #expect(!answer.written.contains { $0.node == 41 })
    }
    let known = await server.perform(.put("public/n", plus, hash: nil), as: nil, in: "ns")
    #expect(known.written == [NodeChange("public/n", 41)])
    let admin = VerifiedToken(uid: "", isAdmin: true)
    let all = await server.perform(.put("box/n", plus, hash: nil), as: admin, in: "ns")
    #expect(all.written == [NodeChange("box/n", 41)])
  }
}
