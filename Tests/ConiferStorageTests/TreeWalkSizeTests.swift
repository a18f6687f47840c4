import ConiferKeyValue
import ConiferTree
import Testing

@testable import ConiferStorage

/// A walk gives small pieces, wherever in a tree the large children are.
@Suite struct TreeWalkSizeTests {
  @Test func `Large children behind a window of small ones come in pieces of their own`()
    async throws
  {
    let backend = try PackedBackend(
      MemoryStore(), name: "memory", options: StorageOptions(budget: nil, compression: .none))
    let tree = try await backend.tree(named: "main")
    let small = (0..<300).map { (Key("s\(1000 + $0)"), Node(.integer(Int64($0)))) }
    let text = Node(.string(String(repeating: "words ", count: 60_000)))
    let large = (0..<8).map { (Key("t\($0)"), text) }
    let whole = Node(children: small + large)
    try await backend.commit([.overwrite(tree, .root, whole)])
    let info = try #require(try backend.inspect { try $0.trees() }.first)
    var sizes: [Int] = []
    var copy = Node.empty
    let walk = TreeWalk(backend: backend, tree: info, cursor: nil) { piece in
      sizes.append(piece.estimatedSize)
      guard case .children(_, let children) = piece else { return }
      for child in children { copy = copy.setting(Path([child.key]), to: child.node) }
    }
    try await walk.run()
    #expect(copy == whole)
    #expect(sizes.allSatisfy { $0 < 1 << 20 }, "\(sizes)")
  }
}
