import ConiferTree
import ConiferWire
import TestSupport
import Testing

@testable import ConiferServer

@Suite struct DisconnectTests {
  private let clock = ServerClock(stoppedAt: 1000)
  private let server: Server

  init() { server = Server(ServerConfiguration(clock: clock)) }

  private var data: Node { server.data(in: "ns") }

  @Test func `What was asked for happens when the session ends, and not before`() {
    server.set(.root, ["online": true, "a": ["x": 1, "y": 2]], in: "ns")
    let (peer, other) = (Peer(server), Peer(server))
    other.listen(.root)
    #expect(peer.ask(.onDisconnectPut("online", .empty)) == .ok)
    #expect(peer.ask(.onDisconnectMerge("a", [NodeChange("x", 5), NodeChange("z/w", 6)])) == .ok)
    #expect(
      peer.ask(.onDisconnectPut("last", Node(.serverValue(.timestamp)))) == .ok)
    #expect(data == ["online": true, "a": ["x": 1, "y": 2]])
    clock.advance(by: 234)
    peer.session.end()
    #expect(data == ["a": ["x": 5, "y": 2, "z": ["w": 6]], "last": 1234])
    #expect(
      other.news() == [
        .overwrite("online", .empty, tag: nil),
        .merge("a", [NodeChange("x", 5), NodeChange("z/w", 6)], tag: nil),
        .overwrite("last", 1234, tag: nil),
      ])
    // It happens once.
    server.set("last", .empty, in: "ns")
    peer.session.end()
    #expect(data["last" as Key].isEmpty)
  }

  @Test func `An increment counts from the value at the end`() {
    let peer = Peer(server)
    peer.ask(.onDisconnectPut("n", Node(.serverValue(.increment(1)))))
    server.set("n", 41, in: "ns")
    peer.session.end()
    #expect(data == ["n": 42])
  }

  @Test func `A single operation is told as an overwrite`() {
    let (peer, other) = (Peer(server), Peer(server))
    other.listen("a")
    peer.ask(.onDisconnectPut("a/b", 1))
    peer.session.end()
    #expect(other.news() == [.overwrite("a/b", 1, tag: nil)])
  }

  @Test func `A cancelled operation does not happen`() {
    let peer = Peer(server)
    peer.ask(.onDisconnectPut("a", ["x": 1, "y": ["z": 2, "w": 3]]))
    peer.ask(.onDisconnectPut("b", 1))
    #expect(peer.ask(.onDisconnectCancel("a/y/z")) == .ok)
    #expect(peer.ask(.onDisconnectCancel("b")) == .ok)
    #expect(peer.ask(.onDisconnectCancel("unknown/place")) == .ok)
    peer.session.end()
    #expect(data == ["a": ["x": 1, "y": ["w": 3]]])
  }

  @Test func `The last session ends before the new one begins`() {
    let peer = Peer(server)
    peer.ask(.onDisconnectPut("online", false))
    let again = Peer(server, lastSession: peer.session.name)
    #expect(server.sessions(in: "ns") == [again.session.name])
    #expect(data == ["online": false])
    again.put("online", true)
    peer.session.end()
    #expect(data == ["online": true])
    #expect(Peer(server, lastSession: "unknown").hello != nil)
  }

  @Test func `What the rules refuse is refused when asked for, or dropped at the end`() {
    server.setRules(
      ClosureRules(write: { path, _, context in
        path.first == "open" || context.auth?.uid == "ada"
      }), in: "ns")
    let peer = Peer(server)
    #expect(peer.ask(.onDisconnectPut("closed", 1))?.status == .permissionDenied)
    peer.ask(.authenticate(Credential("ada")))
    #expect(peer.ask(.onDisconnectPut("closed", 1)) == .ok)
    #expect(peer.ask(.onDisconnectPut("open", 1)) == .ok)
    peer.ask(.unauthenticate)
    peer.session.end()
    #expect(data == ["open": 1])
  }

  @Test func `What is no valid write is refused at once`() {
    let peer = Peer(server)
    #expect(peer.ask(.onDisconnectPut("a.b", 1))?.status == .failure)
    #expect(
      peer.ask(.onDisconnectMerge("a", [NodeChange("b", 1), NodeChange("b/c", 1)]))?.status
        == .failure)
  }

  @Test func `The server ends all sessions`() {
    let (one, two) = (Peer(server), Peer(server))
    one.ask(.onDisconnectPut("one", 1))
    two.listen("one")
    server.disconnectAll(in: "ns", reason: "maintenance")
    _ = (one.news(), two.news())
    #expect(one.closed == ["maintenance"])
    #expect(two.closed == ["maintenance"])
    #expect(data == ["one": 1])
    #expect(server.sessions(in: "ns").isEmpty)
  }

  @Test func `Later operations go over earlier ones`() {
    var writes = DisconnectWrites()
    #expect(writes.isEmpty)
    writes.remember("a/b", 1)
    writes.remember("a", ["c": 2])
    writes.remember("a/d/e", 3)
    writes.remember("b", 4)
    writes.remember("a/c", .empty)
    #expect(
      writes.told == ["/a = a", "/a/d/e = a/d/e", "/b = b", "/a/c = a/c"])
    #expect(
      writes.changes(atMost: 3) == [
        NodeChange("a", ["c": 2]), NodeChange("a/c", .empty), NodeChange("a/d/e", 3),
      ])
    // A leaf has nothing below it to forget.
    writes.forget("b/x")
    #expect(writes.told == ["/a = a", "/a/d/e = a/d/e", "/b = b", "/a/c = a/c"])
    // The part that something came over is not brought back.
    writes.forget("a/x")
    #expect(writes.told == ["/a/d/e = a/d/e", "/b = b", "/a/c = a/c"])
    writes.forget("a/d/e")
    writes.forget(.root)
    #expect(writes.isEmpty)
    #expect(writes.bytes == 0)
  }

  @Test func `Forgetting below a node keeps its other children and its priority`() {
    var writes = DisconnectWrites()
    let children: [(Key, Node)] = [("b", 1), ("c", 2)]
    writes.remember("a", Node(children: children, priority: Priority(5)))
    writes.forget("a/b")
    #expect(writes.told == ["/a * a/c a/.priority"])
    #expect(
      writes.changes(atMost: 9) == [NodeChange("a/c", 2), NodeChange("a/.priority", 5)])
    writes.forget("a")
    #expect(writes.isEmpty)
    #expect(writes.bytes == 0)
  }

  @Test func `What is left of an update stays one write, behind earlier ones`() {
    var writes = DisconnectWrites()
    writes.remember("b", 0)
    let changes = [NodeChange("a/x", 1), NodeChange("a/y", 2), NodeChange("a/z", 3)]
    writes.remember(changes, base: "a", isMerge: true)
    writes.remember("a/y", 4)
    writes.forget("a/z")
    #expect(writes.told == ["/b = b", "/a * a/x", "/a/y = a/y"])
  }

  @Test(arguments: Programs.seeds)
  func `The bytes are those of what is left`(seed: UInt64) {
    var random = Seeded(seed)
    var writes = DisconnectWrites()
    for _ in 0..<200 {
      let path = Programs.path(&random, longest: 3)
      if random.one(in: 4) {
        writes.forget(path)
      } else {
        writes.remember(path, Programs.node(2, &random))
      }
      // Taken as new ones, what is left takes as much.
      var copy = DisconnectWrites()
      for unit in writes.units {
        for change in unit.changes { copy.remember([change], base: .root, isMerge: true) }
      }
      #expect(copy.bytes == writes.bytes, "seed \(seed)")
      let all = [NodeChange(.root, .empty)]
      #expect(writes.growth(by: all) + writes.bytes == 128, "seed \(seed)")
    }
  }

  @Test func `A session's operations are bounded in bytes`() {
    let server = Server(ServerConfiguration(limits: ServerLimits(disconnect: 1000)))
    let peer = Peer(server)
    let text = Node(.string(String(repeating: "a", count: 500)))
    #expect(peer.ask(.onDisconnectPut("a", text)) == .ok)
    #expect(peer.ask(.onDisconnectPut("b", text))?.status == .tooBig)
    // What is replaced or taken back counts no longer.
    for _ in 0..<5 { #expect(peer.ask(.onDisconnectPut("a", text)) == .ok) }
    peer.ask(.onDisconnectCancel("a"))
    #expect(peer.ask(.onDisconnectPut("b", text)) == .ok)
    peer.session.end()
    #expect(server.data(in: "ns") == ["b": text])
  }

  @Test func `Small leaves count with the memory that they take`() {
    let server = Server(ServerConfiguration(limits: ServerLimits(disconnect: 100_000)))
    let peer = Peer(server)
    let leaves = (0..<2000).map { (Key("k\($0)"), Node(1)) }
    let node = Node(children: leaves)
    #expect(node.estimatedSize < 50_000)
    #expect(peer.ask(.onDisconnectPut("a", node))?.status == .tooBig)
  }

  @Test func `The operations of all sessions of all databases are bounded together`() {
    let limits = ServerLimits(disconnect: 10_000, disconnects: 20_000)
    let server = Server(ServerConfiguration(limits: limits))
    let text = Node(.string(String(repeating: "a", count: 8000)))
    let peers = (0..<8).map { Peer(server, "ns\($0 % 2)") }
    #expect(peers[0].ask(.onDisconnectPut("a", text)) == .ok)
    #expect(peers[1].ask(.onDisconnectPut("a", text)) == .ok)
    for peer in peers[2...] {
      let answer = peer.ask(.onDisconnectPut("a", text))
      #expect(answer?.status == .unavailable)
      #expect(answer?.reason?.contains("20000") == true)
      // Nobody who asks for little is refused over what others ask for.
      #expect(peer.ask(.onDisconnectPut("online", .empty)) == .ok)
    }
    // What is taken back, written, or replaced by less makes room.
    #expect(peers[0].ask(.onDisconnectCancel("a")) == .ok)
    #expect(peers[2].ask(.onDisconnectPut("a", text)) == .ok)
    #expect(peers[3].ask(.onDisconnectPut("a", text))?.status == .unavailable)
    peers[1].session.end()
    #expect(peers[3].ask(.onDisconnectPut("a", text)) == .ok)
    #expect(peers[3].ask(.onDisconnectPut("a", 1)) == .ok)
    #expect(peers[4].ask(.onDisconnectPut("a", text)) == .ok)
    for peer in peers { peer.session.end() }
    let others = [Peer(server), Peer(server)]
    for peer in others { #expect(peer.ask(.onDisconnectPut("a", text)) == .ok) }
  }
}

extension DisconnectWrites {
  fileprivate mutating func remember(_ path: Path, _ node: Node) {
    remember([NodeChange(path, node)], base: path, isMerge: false)
  }

  /// Each write's base, `*` for a merge, and its paths.
  fileprivate var told: [String] {
    units.map { unit in
      let paths = unit.changes.map { $0.path.keys.map(\.string).joined(separator: "/") }
      return "\(unit.base) \(unit.isMerge ? "*" : "=") " + paths.joined(separator: " ")
    }
  }
}
