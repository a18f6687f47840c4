import ConiferServer
import ConiferTree
import ConiferWire
import TestSupport
import Testing

@Suite struct WriteTests {
  private let clock = ServerClock(stoppedAt: 1000)
  private let server: Server
  private let peer: Peer

  init() {
    server = Server(ServerConfiguration(clock: clock))
    peer = Peer(server)
  }

  private func seed(_ node: Node) { server.set(.root, node, in: "ns") }

  private var data: Node { server.data(in: "ns") }

  @Test func `A write with a hash is done only when the node has it`() {
    seed(["a": 5])
    let stale = peer.put("a", 6, hash: NodeHash.hash(4))
    #expect(stale == Response(.dataStale, reason: "Transaction hash does not match"))
    #expect(data == ["a": 5])
    #expect(peer.put("a", 6, hash: NodeHash.hash(5)) == .ok)
    #expect(peer.put("b", 1, hash: NodeHash.hash(.empty)) == .ok)
    #expect(peer.put("b", 2, hash: "")?.status == .dataStale)
    #expect(data == ["a": 6, "b": 1])
  }

  @Test func `Server values are resolved by the server's clock and data`() {
    seed(["a": ["n": 10, "text": "x"]])
    peer.listen("a")
    let increment = Node(.serverValue(.increment(3)))
    let timestamp = Node(.serverValue(.timestamp))
    #expect(peer.put("a/n", increment) == .ok)
    #expect(peer.pushes == [.overwrite("a/n", 13, tag: nil)])
    clock.advance(by: 500)
    let merged = peer.merge(
      "a", [("n", increment), ("text", increment), ("t", timestamp), ("new/n", increment)])
    #expect(merged == .ok)
    #expect(data == ["a": ["n": 16, "text": 3, "t": 1500, "new": ["n": 3]]])
    #expect(
      peer.pushes == [
        .merge(
          "a",
          [
            NodeChange("n", 16), NodeChange("text", 3), NodeChange("t", 1500),
            NodeChange("new/n", 3),
          ], tag: nil)
      ])
    #expect(peer.put("a/n/.priority", timestamp) == .ok)
    #expect(data["a/n/.priority" as Path] == 1500)
  }

  @Test func `An unknown server value is refused`() {
    let answer = peer.put("a", Node(.serverValue(.other(name: "later"))))
    #expect(answer?.status == .failure)
    #expect(data.isEmpty)
  }

  @Test func `A merge is done whole or not at all`() {
    seed(["a": 1])
    #expect(peer.merge(.root, [("a", 2), ("b.c", 3)])?.status == .failure)
    #expect(peer.merge(.root, [("a", 2), ("a/b", 3)])?.status == .failure)
    #expect(data == ["a": 1])
    #expect(peer.merge(.root, []) == .ok)
    #expect(peer.merge(.root, [("a", .empty), ("b/c", 3)]) == .ok)
    #expect(data == ["b": ["c": 3]])
  }

  @Test func `A node that a merge gives new children keeps its priority`() {
    seed(["a": ["x": 1, ".priority": 5]])
    peer.listen("a")
    #expect(peer.merge("a", [("x", .empty), ("y", 2)]) == .ok)
    #expect(data == ["a": ["y": 2, ".priority": 5]])
    #expect(
      peer.pushes == [.merge("a", [NodeChange("y", 2), NodeChange("x", .empty)], tag: nil)])
  }

  @Test func `A priority without data is refused, also in a merge`() {
    #expect(peer.put("a/.priority", 1)?.status == .failure)
    #expect(peer.put("a/.priority", .empty) == .ok)
    #expect(peer.merge("a", [(".priority", 1)])?.status == .failure)
    #expect(peer.merge("a", [(".priority", 1), ("x", 1)]) == .ok)
    #expect(data == ["a": ["x": 1, ".priority": 1]])
  }

  @Test func `What is too large, too deep or badly named is refused`() {
    let long = String(repeating: "x", count: Leaf.longest + 1)
    #expect(peer.put("a", Node(.string(long)))?.status == .tooBig)
    #expect(peer.put("a", Node(.string(String(long.dropLast())))) == .ok)
    let half = Node(.string(String(repeating: "x", count: 9 * 1024 * 1024)))
    #expect(peer.put("a", ["x": half, "y": half])?.status == .tooBig)
    #expect(peer.merge("a", [("x", half), ("y", half)])?.status == .tooBig)
    let deep = (0..<32).map { Key($0) }
    #expect(peer.put(Path(deep), 1) == .ok)
    #expect(peer.put(Path(deep + ["x"]), 1)?.status == .failure)
    #expect(peer.put(Path(Array(deep.dropLast())), ["x": ["y": 1]])?.status == .failure)
    var bottomless: Node = 1
    for _ in 0..<10_000 { bottomless = ["x": bottomless] }
    #expect(peer.put("a", bottomless)?.status == .failure)
    #expect(peer.put(Path([Key(String(repeating: "k", count: 769))]), 1)?.status == .failure)
    for key in ["a.b", "a#", "$a", "[", "]", "\u{1}"] as [Key] {
      #expect(peer.put(Path([key]), 1)?.status == .failure)
      #expect(peer.put("a", Node(children: [(key, Node(1))]))?.status == .failure)
    }
    #expect(peer.put(".info/connected", true)?.status == .failure)
    #expect(peer.put("a", Node(.double(.infinity)))?.status == .failure)
  }

  @Test func `A repeated write is done again`() {
    let increment = Node(.serverValue(.increment(1)))
    peer.put("n", increment)
    peer.put("n", increment)
    #expect(data == ["n": 2])
  }

  @Test func `The server writes in its own name`() {
    peer.listen("a")
    server.set("a/b", 1, in: "ns")
    #expect(peer.news() == [.overwrite("a/b", 1, tag: nil)])
    let answers = Gathered<Response>()
    server.write([NodeChange("a.b", 1)], in: "ns", answer: { answers.add($0) })
    #expect(answers.all.map(\.status) == [.failure])
  }

  @Test func `Other requests are answered`() {
    #expect(peer.ask(.stats(["sdk.x": 1])) == .ok)
    #expect(peer.ask(.appCheck("token")) == .ok)
    #expect(peer.ask(.appCheck(nil)) == .ok)
    peer.session.receive(.keepAlive)
    #expect(peer.news().isEmpty)
  }

  @Test func `A ping is answered, and so is a numbered request that is not known`() {
    peer.session.receive(.ping)
    peer.session.receive(.unknown(nil, action: "zz"))
    peer.session.receive(.unknown(7, action: "zz"))
    let messages = peer.messages()
    #expect(messages.count == 2)
    #expect(messages.first == .pong)
    guard case .response(7, let response)? = messages.last else { return #expect(Bool(false)) }
    #expect(response.status == .failure)
  }

  @Test func `A session that ended is not answered, and writes nothing`() {
    peer.session.end()
    peer.session.end()
    #expect(peer.put("a", 1) == nil)
    #expect(data.isEmpty)
    #expect(server.sessions(in: "ns").isEmpty)
  }
}
