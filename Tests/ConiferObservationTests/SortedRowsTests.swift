import ConiferQuery
import ConiferTree
import TestSupport
import Testing

@testable import ConiferObservation

/// The rows of a list as its children change.
@Suite struct `Sorted rows` {
  private struct Fault: Error {}

  /// A list that is told versions of a node, beside one that is sorted anew each time.
  private struct List {
    var sorted = SortedRows<Int64, Fault>()
    var rows: [ObservedRow<Int64>] = []
    var faults: Set<String> = []
    var comparisons = 0
    var decoded = 0
    let index: QueryIndex

    /// Takes a version; children without a number cannot be decoded.
    mutating func take(_ node: Node) {
      var (comparisons, decoded) = (0, 0)
      let changes = sorted.take(node, rows) { a, b in
        comparisons += 1
        return index.compare(a, b) < 0
      } decode: { (child) throws(Fault) in
        decoded += 1
        guard case .integer(let number)? = child.node[Key("size")].leaf else { throw Fault() }
        return number
      }
      if changes.hasRows { changes.apply(to: &rows) }
      for (key, fault) in changes.faults {
        if fault == nil { faults.remove(key) } else { faults.insert(key) }
      }
      (self.comparisons, self.decoded) = (comparisons, decoded)
    }

    func expect(_ node: Node, _ words: String) {
      let children = node.children.sorted { index.compare($0, $1) < 0 }
      let good = children.filter { $0.node[Key("size")].leaf != "none" }
      #expect(rows.map(\.id) == good.map(\.key.string), "\(words)")
      #expect(
        rows.map { Leaf.integer($0.value) } == good.compactMap { $0.node[Key("size")].leaf },
        "\(words)")
      #expect(
        faults == Set(children.filter { $0.node[Key("size")].leaf == "none" }.map(\.key.string)),
        "\(words)")
    }
  }

  private static func room(_ size: Int) -> Node {
    // Some sizes are the same, and some are no numbers.
    ["size": size % 11 == 3 ? "none" : Node(.integer(Int64(size / 3)))]
  }

  @Test(arguments: [QueryIndex.key, .child("size"), .value], 0..<4)
  func `are those of a list that is sorted anew after each change`(
    index: QueryIndex, round: Int
  ) {
    var generator = Seeded(UInt64(round + 1))
    var list = List(index: index)
    var node = Node()
    for step in 0..<300 {
      // Mostly a few of many, at times all that there are.
      let count = step % 40 == 0 ? 200 : Int.random(in: 0...4, using: &generator)
      for _ in 0..<count {
        let key = Key("k\(Int.random(in: 0..<260, using: &generator))")
        let isGone = Int.random(in: 0..<5, using: &generator) == 0
        node = node.setting(
          key, to: isGone ? Node() : Self.room(Int.random(in: 0..<90, using: &generator)))
      }
      if step % 97 == 96 { node = Node() }
      list.take(node)
      list.expect(node, "round \(round), step \(step)")
    }
  }

  @Test func `of many find what has changed and its place by halving`() {
    var list = List(index: .child("size"))
    var node = Node(children: (0..<5_000).map { (Key("k\($0)"), Self.room($0 * 11)) })
    list.take(node)
    #expect(list.rows.count == 5_000 && list.decoded == 5_000)
    for number in [0, 17, 2_500, 4_999] {
      node = node.setting(Key("k\(number)"), to: Self.room(30_000 - number * 6))
      list.take(node)
      // Twice the logarithm, and one child.
      #expect(list.comparisons <= 26 && list.decoded == 1)
      list.expect(node, "\(number)")
    }
    list.take(node)
    #expect(list.comparisons == 0 && list.decoded == 0)
  }
}
