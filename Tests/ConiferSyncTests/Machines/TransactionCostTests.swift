import ConiferQuery
import ConiferTree
import ConiferWire
import Testing

@testable import ConiferSync

/// Counts what is looked at, since times say little on a busy machine.
@Suite struct `The cost of transactions at one place` {
  private static let count = 4000

  /// A machine over views that are open at its path.
  private final class Client {
    let tree = SyncTree(cache: nil)
    var machine = TransactionMachine()
    var runs: [(id: TransactionID, input: Node)] = []
    var puts: [TransactionPut] = []
    var committed = 0
    var failed = 0
    private var lastStep: UInt64 = 0

    init() throws {
      _ = try tree.listen(.app(1), to: QueryTarget("a"), kinds: .all)
      _ = tree.overwrite("a", 0)
    }

    /// Nodes, writes and transactions that were looked at.
    var visits: Int { tree.overlay.visits.count + machine.live.visits }

    func position() -> LanePosition {
      lastStep += 1
      return LanePosition(0, lastStep)
    }

    func give(_ input: TransactionInput) {
      let tree = tree
      for action in machine.handle(input, readView: { tree.value(at: $0, $1) ?? .empty }) {
        switch action {
        case .listen, .unlisten: break
        case .run(let id, _, let input): runs.append((id: id, input: input))
        case .write(let id, let path, let node, let isVisible):
          _ = tree.write(id, [NodeChange(path, node)], isVisible: isVisible)
        case .revert(let id): _ = tree.revert(id)
        case .acknowledge(let id, let isDataMissing):
          _ = tree.acknowledge(id, isDataMissing: isDataMissing)
        case .put(let put): puts.append(put)
        case .complete(_, let outcome):
          if outcome.isCommitted { committed += 1 } else { failed += 1 }
        case .proceed: give(.proceed)
        }
      }
    }

    func start(_ number: Int, isVisible: Bool) {
      let id = TransactionID(rawValue: UInt64(number))
      give(.start(id, "a", isVisible: isVisible, position: position()))
      run()
    }

    /// Takes the newest put; there must be one.
    func put() throws -> TransactionPut {
      let put = puts.popLast()
      return try #require(put)
    }

    /// Answers the functions: each adds one; how many ran.
    @discardableResult
    func run() -> Int {
      var count = 0
      while let (id, input) = runs.popLast() {
        count += 1
        let sum = Node(.integer(Int64(input.leaf?.number ?? 0) + 1))
        give(.ran(id, .write(sum), writePosition: position(), serverTime: 0))
      }
      return count
    }
  }

  /// Each of these has all transactions looked at anew, and none looks at the others.
  @Test(arguments: [true, false])
  func `each looks at a bounded number of nodes, writes and other transactions`(
    isVisible: Bool
  ) throws {
    let client = try Client()
    let count = Self.count
    var before = client.visits
    func cost(_ what: String) {
      let each = Double(client.visits - before) / Double(count)
      #expect(each > 0, "\(what)")
      #expect(each <= 48, "\(what): each looked at \(each)")
      before = client.visits
    }
    for number in 1...count { client.start(number, isVisible: isVisible) }
    cost("begun offline")
    client.give(.changed("a"))
    #expect(client.run() == 0)
    cost("asked again though nothing changed")
    _ = client.tree.overwrite("a", 1000)
    client.give(.changed("a"))
    #expect(client.run() == count)
    cost("run again over other data")
    client.give(.writable(true))
    let put = try client.put()
    #expect(put.node == Node(.integer(Int64(1000 + count))))
    cost("sent")
    client.start(count + 1, isVisible: isVisible)
    _ = client.tree.overwrite("a", 2000)
    client.give(.putAnswered(put.id, Response(.dataStale)))
    client.run()
    cost("refused as stale, and run again")
    let second = try client.put()
    #expect(second.node == Node(.integer(Int64(2001 + count))))
    _ = client.tree.overwrite("a", second.node)
    client.give(.putAnswered(second.id, .ok))
    cost("committed")
    #expect(client.committed == count + 1 && client.machine.isEmpty)
    #expect(client.tree.overlay.count == 0)
  }

  @Test(arguments: [TransactionInput.overwritten(["a"]), .giveUp(.writeCanceled)])
  func `ending all costs each a bounded number`(_ end: TransactionInput) throws {
    let client = try Client()
    for number in 1...Self.count { client.start(number, isVisible: true) }
    let before = client.visits
    client.give(end)
    #expect(client.failed == Self.count && client.machine.isEmpty)
    let each = Double(client.visits - before) / Double(Self.count)
    #expect(each <= 48, "each looked at \(each)")
  }

  @Test func `a family splits when the transaction above ends, and unites when one begins`() {
    var bench = TransactionBench()
    bench.start(1, "a/x")
    bench.start(2, "a/y")
    let above = bench.start(3, "a")
    bench.start(4, "a/x")
    bench.run(TransactionBench.increment)
    bench.run(TransactionBench.increment)
    bench.run { _ in .abort }
    bench.runAll()
    #expect(bench.outcomes[above]?.isCommitted == false)
    #expect(Set(bench.machine.live.families.keys) == ["a/x", "a/y"])
    #expect(bench["a"] == ["x": 2, "y": 1])
    bench.start(5, "a")
    bench.run { node in .write(node.setting(Key("z"), to: node[Key("x")])) }
    #expect(Set(bench.machine.live.families.keys) == ["a"])
    bench.give(.writable(true))
    #expect(bench.puts.map(\.node) == [["x": 2, "y": 1, "z": 2]])
  }
}
