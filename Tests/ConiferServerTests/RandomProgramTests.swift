import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import TestSupport
import Testing

/// Random writes of several sessions, against a plain model, and against what listeners hold.
@Suite struct RandomProgramTests {
  @Test(arguments: Programs.seeds)
  func `The tree is the model's, and replicas are what queries give`(seed: UInt64) throws {
    var random = Seeded(seed)
    let clock = ServerClock(stoppedAt: 1000)
    let server = Server(ServerConfiguration(clock: clock))
    var model = PlainTree()
    let peers = (0..<3).map { _ in Peer(server) }
    var replicas = peers.map { _ in [Replica]() }
    var tags = 0

    func deliver(_ index: Int, _ pushes: [Push]) {
      for push in pushes {
        for place in replicas[index].indices { replicas[index][place].apply(push) }
      }
    }

    func ask(_ index: Int, _ request: Request) -> Response? {
      let answer = peers[index].ask(request)
      deliver(index, peers[index].pushes)
      for other in peers.indices where other != index { deliver(other, peers[other].news()) }
      return answer
    }

    for step in 0..<150 {
      let index = random.below(peers.count)
      clock.advance(by: 1)
      switch random.below(12) {
      case 0, 1:
        let target =
          random.one(in: 3)
          ? QueryTarget(Programs.path(&random, longest: 2))
          : QueryTarget(Programs.path(&random, longest: 1), Programs.spec(&random))
        if target.spec.isDefault, replicas[index].contains(where: { $0.target == target }) {
          continue
        }
        tags += 1
        let tag = target.spec.isDefault ? nil : tags
        // What a client may know: nothing, what is there, or something old.
        let now = target.spec.filtered(server.data(target.path, in: "ns"))
        var known = random.one(in: 3) ? Node.empty : now
        if random.one(in: 2), !known.isLeaf {
          known = known.setting(random.pick(Programs.keys), to: Programs.node(1, &random))
        }
        replicas[index].append(Replica(target: target, tag: tag, node: known))
        let compound =
          random.one(in: 2)
          ? CompoundHash(of: known, rangeLength: random.pick([0, 40])) : nil
        let answer = ask(
          index, .listen(target, tag: tag, hash: NodeHash.hash(known), compound: compound))
        #expect(answer == .ok)
      case 2:
        guard !replicas[index].isEmpty else { continue }
        let replica = replicas[index].remove(at: random.below(replicas[index].count))
        #expect(ask(index, .unlisten(replica.target, tag: replica.tag)) == .ok)
      case 3, 4:
        let base = Programs.path(&random, longest: 2)
        var changes: [NodeChange] = []
        for _ in 0..<random.below(4) {
          var path = Programs.path(&random, longest: 2)
          if path.isRoot { path = "b" }
          let new = NodeChange(path, random.one(in: 3) ? .empty : Programs.node(1, &random))
          if changes.contains(where: { $0.path.contains(path) || path.contains($0.path) }) {
            continue
          }
          changes.append(new)
        }
        #expect(ask(index, .merge(base, changes)) == .ok)
        for isRemoval in [false, true] {
          for change in changes where change.node.isEmpty == isRemoval {
            model.set(base.appending(change.path), change.node)
          }
        }
      case 5:
        let path = Programs.path(&random).appending(.priority)
        let priority = Programs.priority(&random).map { Node($0.leaf) } ?? .empty
        let isPossible = priority.isEmpty || model.hasData(path.parent ?? .root)
        #expect(
          ask(index, .put(path, priority, hash: nil))?.status == (isPossible ? .ok : .failure))
        if isPossible { model.set(path, priority) }
      case 6:
        let path = Programs.path(&random)
        let old = server.data(path, in: "ns")
        let isFresh = random.one(in: 2)
        let hash = NodeHash.hash(isFresh ? old : "something else")
        let node = Programs.leaf(&random)
        #expect(
          ask(index, .put(path, node, hash: hash))?.status == (isFresh ? .ok : .dataStale))
        if isFresh { model.set(path, node) }
      case 7:
        let path = Programs.path(&random)
        let old = server.data(path, in: "ns").leaf?.number ?? 0
        #expect(
          ask(index, .put(path, Node(.serverValue(.increment(2))), hash: nil)) == .ok)
        model.set(path, Node(.double(old + 2)))
      default:
        let path = Programs.path(&random)
        let node = random.one(in: 4) ? .empty : Programs.node(2, &random)
        #expect(ask(index, .put(path, node, hash: nil)) == .ok)
        model.set(path, node)
      }
      let data = server.data(in: "ns")
      try #require(PlainTree(data) == model, "seed \(seed), step \(step)")
      for replica in replicas.joined() {
        let expected = replica.target.spec.filtered(data[replica.target.path])
        try #require(
          replica.node == expected, "seed \(seed), step \(step), \(replica.target), \(data)")
      }
    }
  }
}
