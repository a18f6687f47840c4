import ConiferKeyValue
import ConiferTree
import Testing

@testable import ConiferStorage

/// A walk that goes on behind a path gives nothing again that came before it.
@Suite struct TreeWalkResumptionTests {
  @Test func `A large child that was begun is gone on with, however many small ones were done`()
    async throws
  {
    let backend = try PackedBackend(
      MemoryStore(), name: "memory", options: StorageOptions(budget: nil, compression: .none))
    let tree = try await backend.tree(named: "main")
    let small = (0..<300).map { (Key("s\(1000 + $0)"), Node(.integer(Int64($0)))) }
    let text = Node(.string(String(repeating: "words ", count: 60_000)))
    let large = Node(children: ["a", "b", "c"].map { (Key($0), text) })
    try await backend.commit([
      .overwrite(tree, .root, Node(children: small + [(Key("z"), large)]))
    ])
    let info = try #require(try backend.inspect { try $0.trees() }.first)
    var ends: [Path] = []
    let walk = TreeWalk(backend: backend, tree: info, cursor: Path("z/b")) { ends.append($0.end) }
    try await walk.run()
    #expect(ends == [Path("z/c")])
  }
}
