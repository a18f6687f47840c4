import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Testing

@Suite struct InspectionTests {
  @Test func `A report tells sessions, who they are, their listens and what they leave`() throws {
    let clock = ServerClock(stoppedAt: 5000)
    let tokens = TokenTable([
      "a": VerifiedToken(uid: "ada"), "o": VerifiedToken(uid: "", isAdmin: true),
    ])
    let server = Server(ServerConfiguration(authenticator: tokens, clock: clock))
    let (first, second) = (Peer(server), Peer(server))
    clock.advance(by: 1000)
    let third = Peer(server)
    first.ask(.authenticate(Credential("a")))
    third.ask(.authenticate(Credential("o")))
    first.listen("/rooms")
    first.listen("/rooms", .first(2), tag: 7)
    first.ask(.onDisconnectPut("/presence/ada", .empty))
    first.ask(.onDisconnectMerge("/seen", [NodeChange("ada", Node(.serverValue(.timestamp)))]))
    first.ask(.onDisconnectPut("/last", "gone"))
    let report = server.inspect("ns")
    #expect(report.name == "ns" && report.now == 6000)
    #expect(report.sessionCount == 3 && report.listenCount == 2)
    #expect(report.sessions.map(\.uid) == ["ada", nil, ""])
    #expect(report.sessions.map(\.isAdmin) == [false, false, true])
    #expect(report.sessions.map(\.since) == [5000, 5000, 6000])
    #expect(report.sessions.map(\.id).sorted() == report.sessions.map(\.id))
    let own = try #require(report.sessions.first)
    #expect(own.listens.map(\.target) == [QueryTarget("/rooms"), QueryTarget("/rooms", .first(2))])
    #expect(own.listens.map(\.tag) == [nil, 7])
    #expect(own.pending.map(\.path) == ["/last", "/presence/ada", "/seen/ada"])
    #expect(own.pending.map(\.kind) == [.set, .remove, .setByServer])
    #expect(!own.hasMorePending)
    second.session.end()
    #expect(server.inspect("ns").sessions.map(\.uid) == ["ada", ""])
  }

  @Test func `Counts only grow, and tell requests, pushes, bytes and changes`() {
    let server = Server()
    let (writer, reader) = (Peer(server), Peer(server))
    let before = server.inspect("ns").traffic
    reader.listen("/a")
    writer.put("/a/b", "text")
    writer.put("/a/b", "text")
    let after = server.inspect("ns").traffic
    #expect(after.requests - before.requests == 3)
    // The listen was told of nothing, and the second write changed nothing.
    #expect(after.pushes - before.pushes == 2)
    #expect(after.changes - before.changes == 1)
    #expect(after.receivedBytes - before.receivedBytes == 2 * Node("text").estimatedSize)
    #expect(
      after.sentBytes - before.sentBytes == Node.empty.estimatedSize + Node("text").estimatedSize)
    server.set("/c", 1, in: "ns")
    #expect(server.inspect("ns").traffic.requests == after.requests + 1)
    #expect(server.inspect("ns").leafCount == 2)
    #expect(server.inspect("ns").estimatedSize == server.data(in: "ns").estimatedSize)
  }

  @Test func `A report of many tells as much as was asked for, and how many there are`() throws {
    let server = Server()
    let peers = (0..<5).map { _ in Peer(server) }
    for number in 0..<7 {
      peers[0].listen(Path([Key("p\(number)")]))
      peers[0].ask(.onDisconnectPut(Path([Key("d\(number)")]), 1))
    }
    let report = server.inspect("ns", InspectionLimits(sessions: 2, listens: 3, pending: 4))
    #expect(report.sessionCount == 5 && report.sessions.map(\.id) == [1, 2])
    let first = try #require(report.sessions.first)
    #expect(first.listenCount == 7)
    #expect(first.listens.map(\.target.path) == ["/p0", "/p1", "/p2"])
    #expect(first.pending.map(\.path) == ["/d0", "/d1", "/d2", "/d3"] && first.hasMorePending)
    let none = server.inspect("ns", InspectionLimits(sessions: 0, listens: 0, pending: 0))
    #expect(none.sessions.isEmpty && none.sessionCount == 5 && none.listenCount == 7)
    withExtendedLifetime(peers) {}
  }

  @Test func `Looking at a database that nobody uses does not make it`() {
    let server = Server()
    #expect(server.inspect("other").sessionCount == 0)
    #expect(server.moment(of: "other").root.isEmpty && server.moment(of: "other").changes == 0)
    #expect(server.namespaces.isEmpty)
    server.set("/a", 1, in: "b")
    server.set("/a", 1, in: "a")
    #expect(server.namespaces == ["a", "b"])
    #expect(server.moment(of: "a").root == ["a": 1] && server.moment(of: "a").changes == 1)
  }

  @Test func `A report names no session by what could end it`() {
    let server = Server()
    let peer = Peer(server)
    let told = "\(server.inspect("ns"))"
    #expect(peer.hello.map { !$0.session.isEmpty && !told.contains($0.session) } == true)
  }
}
