import ConiferTree
import ConiferWire
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
        .merge(
          .root,
          [
            NodeChange("a/x", 5), NodeChange("a/z/w", 6), NodeChange("last", 1234),
            NodeChange("online", .empty),
          ], tag: nil)
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
    writes.remember(NodeChange("a/b", 1))
    writes.remember(NodeChange("a", ["c": 2]))
    writes.remember(NodeChange("a/d/e", 3))
    writes.remember(NodeChange("b", 4))
    writes.remember(NodeChange("a/c", .empty))
    #expect(writes.changes == [NodeChange("a", ["d": ["e": 3]]), NodeChange("b", 4)])
    // A leaf has nothing below it to forget.
    writes.forget("b/x")
    writes.forget("a/x")
    #expect(writes.changes == [NodeChange("a/d", ["e": 3]), NodeChange("b", 4)])
    writes.forget("a/d/e")
    writes.forget(.root)
    #expect(writes.isEmpty)
  }
}
