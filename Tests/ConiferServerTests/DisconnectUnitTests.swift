import ConiferTree
import ConiferWire
import TestSupport
import Testing

@testable import ConiferServer

/// What one request asks for at a disconnect is one write.
@Suite struct DisconnectUnitTests {
  private func server(_ rules: String, limits: ServerLimits = ServerLimits()) throws -> Server {
    let server = Server(ServerConfiguration(limits: limits, clock: ServerClock(stoppedAt: 1000)))
    try server.setRules(json: Array(#"{"rules":\#(rules)}"#.utf8), in: "ns")
    return server
  }

  private func data(_ server: Server) -> Node { server.data(in: "ns") }

  private let pair =
    #"{".read":true,".write":true,"u":{".validate":"newData.hasChildren(['a','b'])"}}"#

  @Test func `An update that was accepted whole is written whole`() throws {
    let server = try server(pair)
    let (peer, other) = (Peer(server), Peer(server))
    other.listen("u")
    let changes = [NodeChange("a", 1), NodeChange("b", 2)]
    #expect(peer.ask(.onDisconnectMerge("u", changes)) == .ok)
    peer.session.end()
    #expect(data(server) == ["u": ["a": 1, "b": 2]])
    #expect(other.news() == [.merge("u", changes, tag: nil)])
  }

  @Test func `What came over a part of an update is written behind the rest`() throws {
    let server = try server(pair)
    let peer = Peer(server)
    peer.ask(.onDisconnectPut("u", ["a": 1, "b": 2]))
    #expect(peer.put("u", ["a": 0, "b": 0]) == .ok)
    #expect(peer.ask(.onDisconnectPut("u/a", 3)) == .ok)
    #expect(peer.ask(.onDisconnectMerge("u", [NodeChange("b", 4), NodeChange("c", 5)])) == .ok)
    #expect(peer.ask(.onDisconnectPut("u/b", 6)) == .ok)
    peer.session.end()
    #expect(data(server) == ["u": ["a": 3, "b": 6, "c": 5]])
  }

  @Test func `A refused update is tried in parts, and takes nothing else with it`() throws {
    let server = try server(
      #"{"open":{".write":true},"closed":{".write":"auth != null"},".read":true}"#)
    let peer = Peer(server)
    peer.ask(.authenticate(Credential("ada")))
    let changes = [NodeChange("closed", 1), NodeChange("open/a", 2)]
    #expect(peer.ask(.onDisconnectMerge(.root, changes)) == .ok)
    #expect(peer.ask(.onDisconnectPut("open/b", 3)) == .ok)
    peer.ask(.unauthenticate)
    peer.session.end()
    #expect(data(server) == ["open": ["a": 2, "b": 3]])
  }

  @Test func `Operations that exclude each other do not all go`() throws {
    let server = try server(
      #"""
      {".read":true,".write":true,
       "x":{".validate":"!newData.parent().hasChild('y')"},
       "y":{".validate":"!newData.parent().hasChild('x')"}}
      """#)
    let peer = Peer(server)
    for key in ["x", "y", "z"] { #expect(peer.ask(.onDisconnectPut(Path(key), 1)) == .ok) }
    peer.session.end()
    #expect(data(server) == ["x": 1, "z": 1])
  }

  @Test func `Together operations may be larger than a write`() throws {
    let server = try server(
      #"{".read":true,".write":true}"#, limits: ServerLimits(write: 1000))
    let peer = Peer(server)
    let text = Node(.string(String(repeating: "a", count: 700)))
    for key in ["x", "y"] { #expect(peer.ask(.onDisconnectPut(Path(key), text)) == .ok) }
    peer.session.end()
    #expect(data(server) == ["x": text, "y": text])
  }

  @Test func `Taking back a part of a large node is refused where the rest takes too much`() throws
  {
    let children = (0..<200).map { (Key("k\($0)"), Node(1)) }
    let node = Node(children: children)
    var writes = DisconnectWrites()
    writes.remember([NodeChange("u", node)], base: "u", isMerge: false)
    let whole = writes.bytes
    let growth = writes.growth(byForgetting: "u/k0")
    writes.forget("u/k0")
    #expect(growth == writes.bytes - whole && growth > 1000)
    for (limits, status) in [
      (ServerLimits(disconnect: whole + growth - 1), Response.Status.tooBig),
      (ServerLimits(disconnects: whole + growth - 1), .unavailable),
      (ServerLimits(disconnect: whole + growth, disconnects: whole + growth), .ok),
    ] {
      let server = try server(#"{".read":true,".write":true}"#, limits: limits)
      let peer = Peer(server)
      #expect(peer.ask(.onDisconnectPut("u", node)) == .ok)
      #expect(peer.ask(.onDisconnectCancel("u/k0"))?.status == status)
      // The whole may always be taken back, and so may what is not there.
      #expect(peer.ask(.onDisconnectCancel("none/x")) == .ok)
      peer.session.end()
      #expect(data(server)["u" as Key].childCount == (status == .ok ? 199 : 200))
    }
  }

  @Test func `How much taking back adds is known before, whatever lies over what`() {
    var random = SystemRandomNumberGenerator()
    let seed = UInt64.random(in: .min ... .max, using: &random)
    var generator = Seeded(seed)
    let keys = ["a", "b", "c"]
    var grown = 0
    for _ in 0..<300 {
      var writes = DisconnectWrites()
      for _ in 0..<6 {
        let path = Path(
          (0..<Int.random(in: 1...3, using: &generator)).map { _ in
            Key(keys.randomElement(using: &generator) ?? "a")
          })
        if Bool.random(using: &generator) {
          let inner = Node(children: keys.map { (Key($0), Node(1)) })
          let node = Node(children: keys.map { (Key($0), inner) })
          writes.remember([NodeChange(path, node)], base: path, isMerge: false)
        } else if Bool.random(using: &generator) {
          writes.remember([NodeChange(path, 1)], base: path, isMerge: false)
        } else {
          let before = writes.bytes
          let growth = writes.growth(byForgetting: path)
          writes.forget(path)
          #expect(writes.bytes - before == growth, "seed \(seed)")
          if growth != 0 { grown += 1 }
        }
      }
    }
    #expect(grown > 0, "Nothing was taken back that cost or gave bytes, seed \(seed)")
  }

  @Test func `What is refused at a disconnect is told to the log without its path`() throws {
    var machine = Namespace(rules: ClosureRules(write: { _, _, context in context.now == 0 }))
    let id = SessionID(rawValue: 1)
    _ = machine.handle(.connect(id, name: "s", host: "h", lastSession: nil), now: 0)
    let request = Request.onDisconnectPut("users/ada-uid", 1)
    _ = machine.handle(.message(id, .request(1, request)), now: 0)
    let outputs = machine.handle(.end(id), now: 1)
    let logs = outputs.compactMap { if case .log(let words) = $0 { words } else { nil } }
    #expect(logs.count == 1)
    #expect(logs.allSatisfy { !$0.contains("ada-uid") && $0.contains("permission_denied") })
    let notes = outputs.compactMap { if case .note(let words) = $0 { words } else { nil } }
    #expect(notes.contains { $0.contains("/users/ada-uid") })
  }
}
