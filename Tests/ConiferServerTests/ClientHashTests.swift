import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Testing

/// Hashes as the JavaScript client takes them; what it hashes for each number was read off a run of
/// its way of taking a double apart, in Node.js.
@Suite struct ClientHashTests {
  private let server = Server(ServerConfiguration(clock: ServerClock(stoppedAt: 1000)))

  /// A number, and the hash that the JavaScript client takes of it.
  static let misread: [(Leaf, String)] = [
    (.integer(9_007_199_254_740_991), "m4qsp/5BbIWTdjthNlnOX+WCTB0="),
    (.integer(-9_007_199_254_740_991), "NGl7AUIW0RH/3UiaD8yEnh8PUAc="),
    (.integer(9_007_199_254_740_990), "oXp82wHfjfrMRLLN/K+VQZoGiHE="),
    (.integer(9_007_199_254_740_987), "1ddhR7bwqqftxdPeI73WYABeoyc="),
    (.double(7.999999999999999), "pITK737CVleu2Q4bHJTdQ4dJnCg="),
    (.double(1023.9999999999999), "wau0qR1/ENr5V8ukd+aXvTH3Y5Q="),
    (.double(0x1p-1021), "O5l9DxuCo6i/M7tWjHQUB4Tnuno="),
    (.double(0x1p-1000), "71dj/ENJUZknAQ3XX9XDSqwglC8="),
    (.double(0x1.8p-999), "6w+gGY6z33rWikkLdhex6bbN6rw="),
  ]

  @Test(arguments: misread)
  func `A JavaScript client's transaction over a number that it hashes wrongly is done`(
    number: Leaf, hash: String
  ) {
    server.set(.root, ["n": Node(number)], in: "ns")
    let peer = Peer(server)
    #expect(NodeHash.hash(Node(number)) != hash)
    #expect(peer.put("n", 1, hash: hash) == .ok)
    #expect(server.data(in: "ns") == ["n": 1])
  }

  @Test(arguments: misread)
  func `The right hash of such a number is taken, and that of another number is not`(
    number: Leaf, hash: String
  ) {
    server.set(.root, ["n": Node(number), "m": 5], in: "ns")
    let peer = Peer(server)
    #expect(peer.put("m", 1, hash: hash)?.status == .dataStale)
    #expect(peer.put("n", 1, hash: NodeHash.hash(5))?.status == .dataStale)
    #expect(peer.put("n", 1, hash: NodeHash.hash(Node(number))) == .ok)
  }

  @Test func `Below and as a priority, too, and a listen with that hash is told nothing`() {
    let largest = Leaf.integer(9_007_199_254_740_991)
    let read = Leaf.double(0x1p53)
    server.set(
      .root,
      [
        "a": [
          "n": Node(largest, priority: Priority(largest)), "m": 2.47, ".priority": Node(largest),
        ]
      ],
      in: "ns")
    let seen: Node = [
      "a": ["n": Node(read, priority: Priority(read)), "m": 2.47, ".priority": Node(read)]
    ]
    let peer = Peer(server)
    let target = QueryTarget("a")
    let hash = NodeHash.hash(seen[Key("a")])
    #expect(peer.ask(.listen(target, tag: nil, hash: hash, compound: nil)) == .ok)
    #expect(peer.pushes.isEmpty)
    #expect(peer.put("a", 1, hash: hash) == .ok)
  }
}
