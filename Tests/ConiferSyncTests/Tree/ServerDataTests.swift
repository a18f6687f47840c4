import ConiferKeyValue
import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferSync

/// What a view knows of the server's data, as writes and the server change it.
@Suite struct `What a view knows` {
  private func partial(_ node: Node, _ spec: QuerySpec = .default) -> ServerData {
    ServerData(spec, CachedNode(node, isComplete: false, isFiltered: !spec.loadsAllData))
  }

  private func adopt(_ data: inout ServerData, _ path: Path, _ node: Node, missing: Bool = false) {
    _ = data.adopt([NodeChange(path, node)], isDataMissing: missing)
  }

  private func receive(_ data: inout ServerData, _ path: Path, _ node: Node) -> [Path] {
    data.receive([NodeChange(path, node)], isMerge: false, isTagged: false)
  }

  @Test func `an adopted child is shown and not taken for sent, until the server sends it`() {
    var data = partial(["x": 1])
    adopt(&data, "n", 2)
    #expect(data.node == ["x": 1, "n": 2] && data.sent == ["x": 1])
    #expect(!data.isComplete && !data.isConfirmed)
    #expect(receive(&data, "n", 3) == ["n"])
    #expect(data.sent == ["x": 1, "n": 3])
  }

  @Test func `a child that comes while the whole is adopted is sent, and the rest is not`() {
    var data = partial(["x": 1])
    adopt(&data, "n", 2)
    adopt(&data, .root, ["n": 4, "m": 5])
    #expect(data.isWhole && !data.isConfirmed)
    #expect(data.node == ["n": 2, "m": 5, "x": 1] && data.sent == ["x": 1])
    #expect(receive(&data, "n", 6) == ["n"])
    #expect(data.node == ["n": 6, "m": 5, "x": 1] && data.sent == ["x": 1, "n": 6])
    data.confirm()
    #expect(data.isConfirmed && data.node == ["x": 1, "n": 6])
  }

  @Test func `a write whose data is missing replaces what was known`() {
    var data = partial(["x": 1])
    adopt(&data, "x", 2)
    #expect(data.node == ["x": 1])
    adopt(&data, "x", 2, missing: true)
    #expect(data.node == ["x": 2])
    adopt(&data, .root, ["y": 3], missing: true)
    #expect(data.node == ["y": 3])
  }

  @Test func `part of an unknown child makes it known only where a write deleted it`() {
    var data = partial(["x": 1])
    adopt(&data, "n/a", 1)
    #expect(receive(&data, "n/a", 1).isEmpty)
    #expect(data.node == ["x": 1])
    adopt(&data, "n", .empty)
    adopt(&data, "n/a", 1)
    #expect(data.node == ["x": 1, "n": ["a": 1]])
  }

  @Test func `a filtered update narrows what was known as a whole`() throws {
    let spec = try QuerySpec.default.limited(toFirst: 1)
    var data = ServerData(
      spec, CachedNode(["a": 1, "b": 2], isComplete: true, isFiltered: false))
    let paths = data.receive([NodeChange("c", 3)], isMerge: true, isTagged: true)
    #expect(paths == [.root, "c", "c"])
    #expect(data.node == ["a": 1] && data.isComplete && data.isFiltered)
  }
}

@Suite struct `Where views are open` {
  @Test func `is known from the listeners alone`() throws {
    let tree = SyncTree(cache: nil)
    let (first, second) = (ListenerID.app(1), ListenerID.silent(2))
    _ = try tree.listen(first, to: QueryTarget("a/b"), kinds: .all)
    let spec = try QuerySpec.default.limited(toFirst: 1)
    _ = try tree.listen(second, to: QueryTarget("a/b/c", spec), kinds: .all)
    #expect(tree.contains(first) && tree.contains(second))
    #expect(tree.hasView(covering: "a/b/x") && !tree.hasView(covering: "a"))
    #expect(tree.hasView(within: "a") && !tree.hasView(within: "a/b/x"))
    #expect(tree.hasView(touching: "a") && tree.hasView(touching: "a/b/x"))
    #expect(!tree.hasView(touching: "x") && tree.hasView(touching: .root))
    #expect(Set(tree.viewPaths) == ["a/b", "a/b/c"])
    #expect(tree.target(ofTag: 1) == QueryTarget("a/b/c", spec) && tree.target(ofTag: 2) == nil)
    _ = tree.stop(first)
    #expect(!tree.contains(first) && tree.viewPaths == ["a/b/c"])
    _ = tree.cancel(QueryTarget("a/b/c", spec))
    #expect(tree.viewPaths.isEmpty && !tree.hasView(touching: .root))
    #expect(tree.target(ofTag: 1) == nil)
  }
}
