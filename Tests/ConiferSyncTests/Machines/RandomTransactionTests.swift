import ConiferSync
import ConiferTree
import ConiferWire
import TestSupport
import Testing

@Suite("Transaction machine: random programs")
struct RandomTransactionTests {
  private static let paths: [Path] = ["a", "a/x", "a/y", "a/x/1", "b", "b/z"]

  /// Every committed transaction added one to the counter at its path, and every other client's
  /// addition stays: at rest server and client hold exactly their sum.
  @Test("count right", arguments: Seeded.seeds(100))
  func counters(seed: UInt64) {
    var chance = Seeded(seed)
    var bench = TransactionBench()
    var server = Node.empty
    var news: [(Path, Node)] = []
    var flying: [TransactionPut] = []
    var started: [TransactionID: Path] = [:]
    var foreign: [Path: Double] = [:]
    var lastID: UInt64 = 0
    var isOnline = false

    func counter(_ path: Path) -> Path { path.appending(Key("n")) }
    func add(_ node: Node) -> Node {
      node.setting(Key("n"), to: Node(.double((node[Key("n")].leaf?.number ?? 0) + 1)))
    }
    func learn() {
      while !news.isEmpty {
        let (path, node) = news.removeFirst()
        bench.learn(node, at: path)
      }
    }
    func step(isCalm: Bool) {
      switch chance.below(isCalm ? 4 : 9) {
      case 0: bench.run { chance.one(in: 10) ? .abort : .write(add($0)) }
      case 1:
        flying += bench.puts
        while bench.takePut() != nil {}
      case 2:
        guard !flying.isEmpty else { break }
        let put = flying.removeFirst()
        // The server tells of data before it answers.
        guard NodeHash.hash(server[put.path]) == put.hash else {
          learn()
          return bench.give(.putAnswered(put.id, Response(.dataStale)))
        }
        server = server.setting(put.path, to: put.node)
        learn()
        bench.give(.putAnswered(put.id, .ok))
      case 3: learn()
      case 4, 5:
        lastID += 1
        let path = Self.paths[chance.below(Self.paths.count)]
        started[bench.start(lastID, path, isVisible: chance.one(in: 2))] = path
      case 6:
        let path = Self.paths[chance.below(Self.paths.count)]
        foreign[path, default: 0] += 1
        server = server.setting(path, to: add(server[path]))
        news.append((path, server[path]))
      case 7:
        isOnline.toggle()
        bench.give(.writable(isOnline))
        for put in flying + bench.puts where !isOnline { bench.give(.putReturned(put.id)) }
        if !isOnline {
          flying = []
          while bench.takePut() != nil {}
        }
      default: bench.give(.changed(Self.paths[chance.below(Self.paths.count)]))
      }
    }

    for _ in 0..<200 { step(isCalm: false) }
    if !isOnline { bench.give(.writable(true)) }
    var rounds = 0
    while !bench.machine.isEmpty || !news.isEmpty, rounds < 20_000 {
      rounds += 1
      step(isCalm: true)
    }
    #expect(
      bench.machine.isEmpty && bench.overlays.isEmpty && bench.listens.isEmpty,
      "CONIFER_SEED=\(seed)")
    #expect(!started.isEmpty && bench.outcomes.count == started.count, "CONIFER_SEED=\(seed)")
    #expect(bench.outcomes.values.contains { $0.isCommitted }, "CONIFER_SEED=\(seed)")
    for path in Self.paths {
      let own = started.filter { $0.value == path && bench.outcomes[$0.key]?.isCommitted == true }
      let expected = Double(own.count) + (foreign[path] ?? 0)
      #expect(
        server[counter(path)].leaf?.number ?? 0 == expected, "CONIFER_SEED=\(seed) at \(path)")
    }
    #expect(bench.known == server, "CONIFER_SEED=\(seed)")
  }
}
