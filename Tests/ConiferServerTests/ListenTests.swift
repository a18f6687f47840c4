import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree
import ConiferWire
import Testing

/// Listens to all data of a place.
@Suite struct ListenTests {
  private let server = Server()

  private func seed(_ node: Node) { server.set(.root, node, in: "ns") }

  @Test func `A session begins with the time, the host and a name of its own`() throws {
    let clock = ServerClock(stoppedAt: 1234)
    let server = Server(ServerConfiguration(clock: clock, host: "here:9"))
    let (one, two) = (Peer(server), Peer(server))
    #expect(one.hello?.timestamp == 1234)
    #expect(one.hello?.host == "here:9")
    #expect(one.hello?.session == one.session.name)
    #expect(one.session.name != two.session.name)
    #expect(server.sessions(in: "ns") == [one.session.name, two.session.name])
  }

  @Test func `A listen is sent the data, then its answer`() {
    seed(["a": ["x": 1]])
    let peer = Peer(server)
    #expect(peer.listen("a") == .ok)
    #expect(peer.pushes == [.overwrite("a", ["x": 1], tag: nil)])
  }

  @Test func `Equal data is not sent again`() {
    seed(["a": ["x": 1, "y": 2.5]])
    let peer = Peer(server)
    #expect(peer.listen("a", known: ["x": 1, "y": 2.5]) == .ok)
    #expect(peer.pushes.isEmpty)
    // It listens all the same.
    peer.put("a/x", 2)
    #expect(peer.pushes == [.overwrite("a/x", 2, tag: nil)])
  }

  @Test func `A client that has nothing is told of nothing`() {
    let peer = Peer(server)
    #expect(peer.listen("nothing") == .ok)
    #expect(peer.pushes == [.overwrite("nothing", .empty, tag: nil)])
  }

  @Test func `Other data than the client's is sent whole without a compound hash`() {
    seed(["a": ["x": 1]])
    let peer = Peer(server)
    peer.listen("a", known: ["x": 2])
    #expect(peer.pushes == [.overwrite("a", ["x": 1], tag: nil)])
    peer.listen("gone", known: ["x": 2])
    #expect(peer.pushes == [.overwrite("gone", .empty, tag: nil)])
  }

  @Test func `With a compound hash only changed ranges are sent`() {
    let known = Node(children: (10..<60).map { (Key($0), Node("value")) })
    seed(["a": known.setting("30" as Key, to: "other")])
    let peer = Peer(server)
    #expect(peer.listen("a", known: known, ranges: true) == .ok)
    guard case .rangeMerge("a", let ranges, nil)? = peer.pushes.first else {
      Issue.record("\(peer.pushes)")
      return
    }
    #expect(peer.pushes.count == 1)
    #expect(ranges.count == 1)
    #expect(ranges.reduce(0) { $0 + $1.node.leafCount } <= 2)
    let result = ranges.reduce(known) { $1.applied(to: $0) }
    #expect(result == server.data("a", in: "ns"))
    peer.listen("a", known: result, ranges: true)
    #expect(peer.pushes.isEmpty)
  }

  @Test func `A write is told as the changed path, before its answer`() {
    seed(["a": ["x": 1, "y": ["z": 2]]])
    let (writer, other) = (Peer(server), Peer(server))
    writer.listen("a")
    other.listen("a/y")
    // Below, at and above the places that are listened to.
    #expect(writer.put("a/y/z", 3) == .ok)
    #expect(writer.pushes == [.overwrite("a/y/z", 3, tag: nil)])
    #expect(other.news() == [.overwrite("a/y/z", 3, tag: nil)])
    #expect(writer.put("a/y", ["w": 4]) == .ok)
    #expect(writer.pushes == [.overwrite("a/y", ["w": 4], tag: nil)])
    #expect(other.news() == [.overwrite("a/y", ["w": 4], tag: nil)])
    #expect(writer.put(.root, ["a": ["y": 5], "b": 6]) == .ok)
    #expect(writer.pushes == [.overwrite("a", ["y": 5], tag: nil)])
    #expect(other.news() == [.overwrite("a/y", 5, tag: nil)])
    // Elsewhere, and without a change.
    writer.put("b", 7)
    writer.put("a/y", 5)
    #expect(writer.pushes.isEmpty)
    #expect(other.news().isEmpty)
  }

  @Test func `A priority is told as itself`() {
    seed(["a": ["x": 1]])
    let peer = Peer(server)
    peer.listen("a")
    #expect(peer.put("a/x/.priority", 7) == .ok)
    #expect(peer.pushes == [.overwrite("a/x/.priority", 7, tag: nil)])
    #expect(server.data(in: "ns") == ["a": ["x": Node(1, priority: 7)]])
    peer.put("a/x/.priority", .empty)
    #expect(peer.pushes == [.overwrite("a/x/.priority", .empty, tag: nil)])
  }

  @Test func `A merge is told at once, each listener its part of it`() {
    seed(["a": ["x": 1], "b": 1])
    let (whole, part, below) = (Peer(server), Peer(server), Peer(server))
    whole.listen(.root)
    part.listen("a")
    below.listen("a/n")
    #expect(whole.merge(.root, [("a/x", 2), ("a/n/m", 5), ("b", .empty)]) == .ok)
    #expect(
      whole.pushes == [
        .merge(
          .root, [NodeChange("a/x", 2), NodeChange("a/n/m", 5), NodeChange("b", .empty)], tag: nil)
      ])
    #expect(part.news() == [.merge("a", [NodeChange("x", 2), NodeChange("n/m", 5)], tag: nil)])
    #expect(below.news() == [.merge("a/n", [NodeChange("m", 5)], tag: nil)])
    #expect(whole.merge("a", [("x", 3), ("n", .empty)]) == .ok)
    #expect(
      whole.pushes == [.merge("a", [NodeChange("x", 3), NodeChange("n", .empty)], tag: nil)])
    #expect(below.news() == [.overwrite("a/n", .empty, tag: nil)])
    #expect(server.data(in: "ns") == ["a": ["x": 3]])
  }

  @Test func `A session is told once, however many of its listens a change concerns`() {
    seed(["a": ["b": ["c": 1]], "d": 1])
    let peer = Peer(server)
    for path in ["a/b", "a", "a/b/c", "d"] as [Path] { peer.listen(path) }
    peer.put("a/b/c", 2)
    #expect(peer.pushes == [.overwrite("a/b/c", 2, tag: nil)])
    peer.put(.root, ["a": ["b": ["c": 3]], "d": 2])
    #expect(
      peer.pushes == [
        .overwrite("a", ["b": ["c": 3]], tag: nil), .overwrite("d", 2, tag: nil),
      ])
  }

  @Test func `After an unlisten nothing is told`() {
    seed(["a": 1])
    let peer = Peer(server)
    peer.listen("a")
    peer.listen("a", .first(1), tag: 1)
    #expect(peer.ask(.unlisten(QueryTarget("a"), tag: nil)) == .ok)
    #expect(peer.ask(.unlisten(QueryTarget("unknown"), tag: nil)) == .ok)
    peer.put("a", 2)
    #expect(peer.pushes.isEmpty)
    peer.put("a", ["x": 1])
    #expect(peer.pushes == [.overwrite("a", ["x": 1], tag: 1)])
  }

  @Test func `A query by another order that loads all data is the default one`() {
    seed(["a": ["x": 1]])
    let peer = Peer(server)
    peer.listen("a", .byValue)
    peer.put("a/x", 2)
    #expect(peer.pushes == [.overwrite("a/x", 2, tag: nil)])
    peer.ask(.unlisten(QueryTarget("a"), tag: nil))
    peer.put("a/x", 3)
    #expect(peer.pushes.isEmpty)
  }

  @Test func `A get reads once, filtered as it asks`() {
    seed(["a": ["x": 3, "y": 1, "z": 2]])
    let peer = Peer(server)
    #expect(peer.ask(.get(QueryTarget("a/x"))) == Response(.ok, node: 3))
    #expect(peer.ask(.get(QueryTarget("none"))) == .ok)
    let last = QuerySpec.make { (spec) throws(TreeError) in
      try spec.ordered(by: .value).limited(toLast: 2)
    }
    #expect(peer.ask(.get(QueryTarget("a", last))) == Response(.ok, node: ["x": 3, "z": 2]))
    peer.put("a/x", 4)
    #expect(peer.pushes.isEmpty)
  }

  @Test func `Queries are warned of a missing index once indexes are declared`() throws {
    let byName = QuerySpec.make { (spec) throws(TreeError) in
      try spec.ordered(byChild: "name").limited(toFirst: 1)
    }
    let byKey = QuerySpec.make { (spec) throws(TreeError) in
      try spec.ordered(by: .key).limited(toFirst: 1)
    }
    let unlimited = QuerySpec.make { (spec) throws(TreeError) in try spec.ordered(byChild: "name") }
    let peer = Peer(server)
    let warning = Response(.ok, warnings: ["no_index"])
    #expect(peer.listen("rooms/r/people", byName, tag: 1) == .ok)
    server.setIndexes([], in: "ns")
    #expect(peer.listen("rooms/r/people", byName, tag: 1) == warning)
    let refused = peer.ask(.get(QueryTarget("rooms/r/people", byName)))
    #expect(refused?.status == .failure)
    #expect(
      refused?.reason
        == "Index not defined, add \".indexOn\": \"name\", for path \"/rooms/r/people\", to the rules"
    )
    #expect(peer.ask(.get(QueryTarget("rooms/r/people", unlimited))) == .ok)
    #expect(peer.listen("rooms/r/people", byKey, tag: 2) == .ok)
    #expect(peer.listen("rooms/r/people", unlimited) == .ok)
    server.setIndexes(
      [try IndexDefinition("rooms/$room/people", by: .child("name"))], in: "ns")
    #expect(peer.listen("rooms/r/people", byName, tag: 1) == .ok)
    #expect(peer.listen("rooms/r/others", byName, tag: 3) == warning)
  }

  @Test func `A path deeper than data can be is refused`() {
    let peer = Peer(server)
    let deep = Path((0..<34).map { Key($0) })
    #expect(peer.listen(deep)?.status == .failure)
    #expect(peer.ask(.get(QueryTarget(deep)))?.status == .failure)
  }

  @Test func `A session has as many listens as the limits allow`() {
    let server = Server(ServerConfiguration(limits: ServerLimits(listens: 2)))
    let peer = Peer(server)
    #expect(peer.listen("a") == .ok)
    #expect(peer.listen("b") == .ok)
    #expect(peer.listen("b") == .ok)
    #expect(peer.listen("c")?.status == .failure)
  }

  @Test func `Databases do not see each other`() {
    let (one, two) = (Peer(server, "one"), Peer(server, "two"))
    two.listen(.root)
    one.put("a", 1)
    #expect(two.news().isEmpty)
    #expect(server.data(in: "one") == ["a": 1])
    #expect(server.data(in: "two").isEmpty)
  }
}
