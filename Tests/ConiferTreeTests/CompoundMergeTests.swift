import TestSupport
import Testing

@testable import ConiferTree

/// What a server answers to a compound hash.
@Suite struct CompoundMergeTests {
  private func merges(
    from client: Node, to server: Node, rangeLength: Int? = nil
  ) -> [RangeMerge] {
    CompoundHash(of: client, rangeLength: rangeLength).merges(to: server)
  }

  private func applied(_ merges: [RangeMerge], to node: Node) -> Node {
    merges.reduce(node) { $1.applied(to: $0) }
  }

  @Test func `Equal data needs nothing`() {
    let node: Node = ["1": true, "a": ["b": 1, "c": "x"], "z": Node(2, priority: "p")]
    for length in [0, 20, 1000] {
      #expect(merges(from: node, to: node, rangeLength: length).isEmpty)
    }
    #expect(merges(from: .empty, to: .empty).isEmpty)
    #expect(merges(from: "leaf", to: "leaf").isEmpty)
  }

  @Test func `Only the changed range is sent`() {
    let client: Node = ["a": 1, "b": 2, "c": 3]
    let server = client.setting("b" as Key, to: 20)
    #expect(
      merges(from: client, to: server, rangeLength: 0) == [
        RangeMerge(start: "a", end: "b", node: ["b": 20])
      ])
  }

  @Test func `New leaves go into the range around them, or behind the last`() {
    let client: Node = ["b": 2, "d": 4]
    #expect(
      merges(from: client, to: ["b": 2, "c": 3, "d": 4], rangeLength: 0) == [
        RangeMerge(start: "b", end: "d", node: ["c": 3, "d": 4])
      ])
    #expect(
      merges(from: client, to: ["b": 2, "d": 4, "e": 5], rangeLength: 0) == [
        RangeMerge(start: "d", end: nil, node: ["e": 5])
      ])
  }

  @Test func `A list that grew by one is answered with one range of some`() {
    let client = Node(
      children: (0..<1000).map { (Key("-M\(1000 + $0)"), ["text": Node(.string("m\($0)"))]) })
    let server = client.setting("-M9999" as Key, to: ["text": "new"])
    let found = merges(from: client, to: server)
    #expect(found.count == 1)
    #expect(found.reduce(0) { $0 + $1.node.leafCount } == 1)
    #expect(applied(found, to: client) == server)
  }

  @Test func `A priority whose node has its leaves in another range comes with them`() {
    // The key of the priority comes after keys that begin with a minus.
    let client: Node = ["q": ["-a": 1, "-b": 2], "r": 3]
    let server: Node = ["q": ["-a": 1, "-b": 2, ".priority": 5], "r": 3]
    let found = merges(from: client, to: server, rangeLength: 0)
    #expect(applied(found, to: client) == server)
    // And before other keys.
    let other: Node = ["q": ["a": 1, "z": 1], "r": 3]
    let moved: Node = ["q": ["z": 1, ".priority": 5], "r": 3]
    #expect(applied(merges(from: other, to: moved, rangeLength: 0), to: other) == moved)
  }

  @Test func `What no client can have computed is no compound hash`() {
    #expect(CompoundHash(paths: ["a"], hashes: ["x"]) == nil)
    #expect(CompoundHash(paths: ["b", "a"], hashes: ["x", "y", ""]) == nil)
    #expect(CompoundHash(paths: ["a", "a"], hashes: ["x", "y", ""]) == nil)
    #expect(CompoundHash(paths: [], hashes: [""]) == CompoundHash(of: .empty))
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `Merges turn any data into any other`(seed: UInt64) {
    var random = Seeded(seed)
    for _ in 0..<50 {
      let client = node(3, &random)
      let server = Bool.random(using: &random) ? changed(client, &random) : node(3, &random)
      let length = [0, 30, 200].randomElement(using: &random) ?? 0
      let found = merges(from: client, to: server, rangeLength: length)
      let result = applied(found, to: client)
      #expect(
        result == server, "seed \(seed), range length \(length): \(client) to \(server): \(found)")
      #expect(found.isEmpty == (client == server), "seed \(seed): \(client) to \(server)")
    }
  }

  @Test func `Ranges that no client would choose are answered all the same`() throws {
    var random = Seeded(7)
    for _ in 0..<200 {
      let server = node(3, &random)
      let paths = Set((0..<3).map { _ in path(&random) }).sorted()
      let compound = try #require(
        CompoundHash(paths: paths, hashes: paths.map { _ in "?" } + ["?"]))
      #expect(applied(compound.merges(to: server), to: .empty) == server)
    }
  }

  private static let keys: [Key] = ["1", "02", "10", "-a", "-b", "a", "b", "z"]

  private func path(_ random: inout Seeded) -> Path {
    Path(
      (0..<Int.random(in: 0...3, using: &random)).map { _ in
        Self.keys.randomElement(using: &random) ?? "a"
      })
  }

  private func node(_ depth: Int, _ random: inout Seeded) -> Node {
    let priority: Priority? = Int.random(in: 0..<4, using: &random) == 0 ? 5 : nil
    if depth == 0 || Int.random(in: 0..<5, using: &random) == 0 {
      return Node(.integer(.random(in: 0..<3, using: &random)), priority: priority)
    }
    let count = Int.random(in: 0...4, using: &random)
    return Node(
      children: (0..<count).map { _ in
        (Self.keys.randomElement(using: &random) ?? "a", node(depth - 1, &random))
      }, priority: priority)
  }

  private func changed(_ node: Node, _ random: inout Seeded) -> Node {
    var result = node
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let value = Bool.random(using: &random) ? self.node(1, &random) : .empty
      result = result.setting(path(&random), to: value)
    }
    return result
  }
}
