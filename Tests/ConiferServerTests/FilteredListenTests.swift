import ConiferQuery
import ConiferTree
import ConiferWire
import TestSupport
import Testing

@testable import ConiferServer

/// Listens to a query, which are told how its result changes.
@Suite struct FilteredListenTests {
  private let server = Server()

  private func seed(_ node: Node) { server.set(.root, node, in: "ns") }

  @Test func `A window slides as in the recorded exchange`() {
    let spec = QuerySpec.make { (spec) throws(TreeError) in
      try spec.ordered(byChild: "n").starting(at: 2).limited(toFirst: 2)
    }
    let peer = Peer(server)
    #expect(peer.listen("list", spec, tag: 1) == .ok)
    peer.put("list/-old", ["n": 5])
    #expect(peer.pushes == [.overwrite("list/-old", ["n": 5], tag: 1)])
    peer.put("list/-mid", ["n": 4])
    #expect(peer.pushes == [.overwrite("list/-mid", ["n": 4], tag: 1)])
    peer.put("list/-new", ["n": 3])
    #expect(
      peer.pushes == [
        .merge("list", [NodeChange("-new", ["n": 3]), NodeChange("-old", .empty)], tag: 1)
      ])
    // Out of range, and behind the window.
    peer.put("list/-low", ["n": 1])
    peer.put("list/-high", ["n": 9])
    #expect(peer.pushes.isEmpty)
    // The next one comes for one that goes.
    peer.put("list/-mid", .empty)
    #expect(
      peer.pushes == [
        .merge("list", [NodeChange("-mid", .empty), NodeChange("-old", ["n": 5])], tag: 1)
      ])
  }

  @Test func `A listen that knows nothing is sent the result, one that knows it nothing`() {
    seed(["a": ["x": 1, "y": 2, "z": 3, ".priority": 4]])
    let spec = QuerySpec.make { (spec) throws(TreeError) in try spec.limited(toLast: 2) }
    let peer = Peer(server)
    peer.listen("a", spec, tag: 7)
    #expect(peer.pushes == [.overwrite("a", ["y": 2, "z": 3], tag: 7)])
    peer.listen("a", spec, tag: 8, known: ["y": 2, "z": 3])
    #expect(peer.pushes.isEmpty)
    peer.listen("a", spec, tag: 9, known: ["y": 2, "z": 4], ranges: true)
    guard case .rangeMerge("a", let ranges, 9)? = peer.pushes.first else {
      Issue.record("\(peer.pushes)")
      return
    }
    #expect(ranges.reduce(["y": 2, "z": 4] as Node) { $1.applied(to: $0) } == ["y": 2, "z": 3])
  }

  @Test func `A change within a child that stays is told as itself`() {
    seed(["a": ["x": ["name": "X", "n": 1], "y": ["name": "Y", "n": 2]]])
    let spec = QuerySpec.make { (spec) throws(TreeError) in
      try spec.ordered(byChild: "n").limited(toFirst: 1)
    }
    let peer = Peer(server)
    peer.listen("a", spec, tag: 1)
    peer.put("a/x/name", "Z")
    #expect(peer.pushes == [.overwrite("a/x/name", "Z", tag: 1)])
    peer.put("a/y/name", "Q")
    #expect(peer.pushes.isEmpty)
    peer.merge("a", [("x/n", 9), ("y/n", 1)])
    #expect(
      peer.pushes == [
        .merge(
          "a",
          [
            NodeChange("x", .empty),
            NodeChange("y", ["name": "Q", "n": 1]),
          ], tag: 1)
      ])
  }

  @Test func `A write at or above the place sends the result anew, if it is another`() {
    seed(["a": ["x": 1, "y": 2]])
    let spec = QuerySpec.first(1)
    let peer = Peer(server)
    peer.listen("a", spec, tag: 1)
    peer.put("a", ["x": 1, "z": 9])
    #expect(peer.pushes.isEmpty)
    peer.put(.root, ["a": ["w": 1, "x": 1]])
    #expect(peer.pushes == [.overwrite("a", ["w": 1], tag: 1)])
    peer.put("a", "leaf")
    #expect(peer.pushes == [.overwrite("a", .empty, tag: 1)])
    peer.put("a/b", 2)
    #expect(peer.pushes == [.overwrite("a/b", 2, tag: 1)])
    // The place's own priority does not count.
    peer.put("a/.priority", 5)
    #expect(peer.pushes.isEmpty)
  }

  @Test func `Filtered and other listens of a session are told each for itself`() {
    seed(["a": ["x": 1, "y": 2]])
    let spec = QuerySpec.first(1)
    let peer = Peer(server)
    peer.listen("a")
    peer.listen("a", spec, tag: 1)
    peer.listen("a", spec, tag: 2)
    peer.put("a/x", 5)
    #expect(
      peer.pushes == [
        .overwrite("a/x", 5, tag: nil), .overwrite("a/x", 5, tag: 1),
        .overwrite("a/x", 5, tag: 2),
      ])
  }

  @Test(arguments: Programs.seeds)
  func `A window that is kept up equals the query's result`(seed: UInt64) {
    var random = Seeded(seed)
    let keys: [Key] = ["1", "2", "10", "-a", "b", "c", "d", "e"]
    for _ in 0..<20 {
      var node = Node.empty
      let spec = Programs.spec(&random)
      var window = QueryWindow(spec, of: node)
      for step in 0..<60 {
        var touched: [Key] = []
        for _ in 0...random.below(3) {
          let key = random.pick(keys)
          touched.append(key)
          node = node.setting(key, to: random.one(in: 4) ? .empty : Programs.child(&random))
        }
        window.update(touched, of: node)
        #expect(
          window.result == spec.filtered(node), "seed \(seed), step \(step), \(spec), \(node)")
      }
    }
  }
}
