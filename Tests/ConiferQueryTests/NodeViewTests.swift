import ConiferQuery
import ConiferTree
import TestSupport
import Testing

@Suite struct `Views of a changing node` {
  private static func specs() throws -> [QuerySpec] {
    let all = QuerySpec.default
    var specs = [all, try all.ordered(by: .value), try all.ordered(byChild: "x")]
    for base in [all, try all.ordered(by: .value), try all.ordered(byChild: "x")] {
      for ranged in [
        base, try base.starting(at: 2), try base.ending(before: 4),
        try base.starting(after: 1, key: "5").ending(at: 5),
      ] {
        specs += [ranged, try ranged.limited(toFirst: 3), try ranged.limited(toLast: 4)]
      }
    }
    let byKey = try all.ordered(by: .key)
    for ranged in [byKey, try byKey.starting(at: "5"), try byKey.ending(at: "30")] {
      specs += [ranged, try ranged.limited(toFirst: 3), try ranged.limited(toLast: 4)]
    }
    return specs
  }

  /// A child among few values, so that ties and moves are frequent.
  private static func child(_ random: inout Seeded) -> Node {
    let value = Int64.random(in: 0..<6, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: return .empty
    case 1: return Node(.integer(value), priority: value < 3 ? Priority(value) : nil)
    case 2: return ["x": Node(.integer(value)), "y": 1]
    default: return Node(.integer(value))
    }
  }

  @Test(arguments: try specs())
  func `a view that follows shows what a new one would`(_ spec: QuerySpec) throws {
    var random = Seeded(7)
    var source = Node.empty
    var view = NodeView(spec)
    for step in 0..<600 {
      let count = [1, 1, 1, 2, 5, 80][Int.random(in: 0..<6, using: &random)]
      for _ in 0..<count {
        let key = Key(Int.random(in: 0..<40, using: &random))
        source = source.setting(key, to: Self.child(&random))
      }
      if step % 100 == 99 { source = step % 200 == 99 ? .empty : "leaf" }
      let old = view.node
      let changes = view.update(to: source)
      let expected = spec.filtered(source)
      try #require(view.node == expected, "step \(step) of \(spec)")
      let order = spec.evaluate(expected).map(\.key)
      #expect(view.children.map(\.key) == order)
      for (i, key) in order.enumerated() {
        #expect(view.previousKey(of: key) == (i > 0 ? order[i - 1] : nil))
      }
      // The changes, applied to what was shown, make what is shown.
      var replayed = old
      for change in changes {
        replayed = replayed.setting(change.key, to: change.kind == .removed ? .empty : change.node)
      }
      #expect(
        replayed.children.map(\.key) == expected.children.map(\.key), "step \(step) of \(spec)")
      #expect(changes.map(\.kind.rawValue) == changes.map(\.kind.rawValue).sorted())
    }
  }

  @Test func `kinds are in order, each in the order of the query`() throws {
    var view = NodeView(
      try QuerySpec.default.ordered(by: .value), of: ["a": 1, "b": 2, "c": 3, "d": 4])
    let changes = view.update(to: ["a": 9, "b": 2, "e": 0, "f": 5])
    #expect(
      changes.map { "\($0.kind) \($0.key)" } == [
        "removed c", "removed d", "added e", "added f", "moved a", "changed a",
      ])
    #expect(view.children.map(\.key) == ["e", "b", "f", "a"])
  }

  @Test func `the children beyond a limit are named`() throws {
    let node: Node = ["a": 3, "b": 1, "c": 2]
    let all = QuerySpec.default
    #expect(try all.limited(toFirst: 1).excess(in: node) == ["b", "c"])
    #expect(try all.limited(toLast: 2).excess(in: node) == ["a"])
    #expect(try all.ordered(by: .value).limited(toLast: 2).excess(in: node) == ["b"])
    #expect(try all.limited(toLast: 3).excess(in: node) == [])
    #expect(all.excess(in: node) == [])
  }
}
