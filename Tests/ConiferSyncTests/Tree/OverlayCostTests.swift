import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferSync

/// Counts what is looked at, since times say little on a busy machine.
@Suite struct `The cost of pending writes` {
  private static let count = 10_000
  private let tree = SyncTree(cache: nil)

  private func visits(_ body: () throws -> Void) rethrows -> Int {
    let before = tree.overlay.visits.count
    try body()
    return tree.overlay.visits.count - before
  }

  private func open() throws {
    for (i, path) in ["", "list", "list/5000", "other"].enumerated() {
      _ = try tree.listen(
        ListenerID.app(UInt64(i + 1)), to: QueryTarget(Path(path)), kinds: .all)
    }
    _ = tree.overwrite(.root, ["list": ["0": "server"], "other": 1])
  }

  private func path(_ i: Int, _ isOne: Bool) -> Path { isOne ? "list/5000" : Path("list/\(i)") }

  @Test(arguments: [true, false])
  func `each write, acknowledgement and revert looks at a bounded number`(isOne: Bool) throws {
    try open()
    var most = 0
    for i in 0..<Self.count {
      let changes = [NodeChange(path(i, isOne), Node(.integer(Int64(i))))]
      let cost = visits { _ = tree.write(LanePosition(UInt64(i)), changes) }
      most = max(most, cost)
    }
    for i in 0..<Self.count / 2 {
      let node = Node(.integer(Int64(i)))
      let cost = visits {
        _ = tree.overwrite(path(i, isOne), node)
        _ = tree.acknowledge(LanePosition(UInt64(i)))
      }
      most = max(most, cost)
    }
    for i in (Self.count / 2..<Self.count).reversed() {
      most = max(most, visits { _ = tree.revert(LanePosition(UInt64(i))) })
    }
    #expect(most > 0)
    #expect(most <= 64, "\(most) nodes and writes were looked at in one step")
    #expect(tree.overlay.count == 0)
    let last = Node(.integer(Int64(Self.count / 2 - 1)))
    #expect(tree.value(at: path(Self.count / 2 - 1, isOne)) == last)
  }

  @Test func `removing from the middle of many writes on one path is swept now and then`() throws {
    try open()
    for i in 0..<Self.count {
      let changes = [NodeChange("list/5000", Node(.integer(Int64(i))))]
      _ = tree.write(LanePosition(UInt64(i)), changes)
    }
    var total = 0
    for i in (1..<Self.count - 1).filter({ $0 % 2 == 1 })
      + (1..<Self.count - 1).filter({ $0 % 2 == 0 })
    {
      total += visits { _ = tree.revert(LanePosition(UInt64(i))) }
    }
    #expect(total <= 64 * Self.count)
    #expect(tree.value(at: "list/5000") == Node(.integer(Int64(Self.count - 1))))
    _ = tree.revert(LanePosition(UInt64(Self.count - 1)))
    #expect(tree.value(at: "list/5000") == Node(.integer(0)))
  }

  @Test func `a set above many writes hides them unseen, and its revert shows them`() throws {
    try open()
    for i in 0..<Self.count {
      let changes = [NodeChange(path(i, false), Node(.integer(Int64(i))))]
      _ = tree.write(LanePosition(UInt64(i)), changes)
    }
    let id = LanePosition(UInt64(Self.count))
    let cost = visits {
      _ = tree.write(id, [NodeChange("list", ["only": true])])
    }
    #expect(cost <= 64, "\(cost)")
    #expect(tree.value(at: "list") == ["only": true])
    // Each of the hidden ones goes without a look at the others.
    var most = 0
    for i in 0..<100 {
      most = max(most, visits { _ = tree.acknowledge(LanePosition(UInt64(i))) })
    }
    #expect(most <= 64, "\(most)")
    let result = tree.revert(id)
    #expect(result.events.filter { $0.event.kind == .childAdded }.count >= Self.count - 100)
  }

  @Test func `an old set above many newer writes goes unseen while a newer one covers it`() throws {
    try open()
    for id in [0, 1] as [UInt64] {
      _ = tree.write(LanePosition(id), [NodeChange("list", ["set": true])])
    }
    for i in 2..<Self.count {
      let changes = [NodeChange(path(i, false), Node(.integer(Int64(i))))]
      _ = tree.write(LanePosition(UInt64(i)), changes)
    }
    let cost = visits { _ = tree.acknowledge(LanePosition(0)) }
    #expect(cost <= 64, "\(cost)")
    #expect(tree.value(at: "list")?.childCount == Self.count - 1)
    // Now each of the writes is looked at, once for each view there.
    #expect(visits { _ = tree.revert(LanePosition(1)) } >= Self.count)
    #expect(tree.value(at: "list")?.childCount == Self.count - 1)
  }
}
