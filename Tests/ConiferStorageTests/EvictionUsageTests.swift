import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferStorage

/// What is counted is what a full scan finds, whatever was written, evicted and tidied.
@Suite struct EvictionUsageTests {
  private static func path(_ random: inout Seeded, _ deepest: Int) -> Path {
    Path(
      (0..<Int.random(in: 0...deepest, using: &random)).map { _ in
        Key(["a", "b", "c", "7", "list"].randomElement(using: &random) ?? "a")
      })
  }

  private static func node(_ random: inout Seeded) -> Node {
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return .empty
    case 1: return Node(.string(String(repeating: "large ", count: 50_000)))
    case 2: return Node(.integer(5), priority: Priority(3))
    default:
      let words = (0..<Int.random(in: 1...200, using: &random)).map { index in
        (Key("m\(index)"), Node(.string(String(random.next(), radix: 36))))
      }
      return Node(children: words, priority: Bool.random(using: &random) ? Priority(1) : nil)
    }
  }

  @Test(arguments: 1...16 as ClosedRange<UInt64>)
  func `Usage is exact after every step of a program`(_ seed: UInt64) async throws {
    var random = Seeded(seed)
    let compression: Compression = seed % 2 == 0 ? .none : .standard
    let backend = try MemoryBackend(
      MemoryStore(), name: "memory", options: StorageOptions(compression: compression))
    let trees = [try await backend.tree(named: "one"), try await backend.tree(named: "two")]
    var queries: [(TreeID, QueryID)] = []
    for step in 0..<60 {
      let tree = trees[Int.random(in: 0...1, using: &random)]
      let path = Self.path(&random, 3)
      switch Int.random(in: 0..<12, using: &random) {
      case 0..<4:
        try await backend.commit([
          .overwrite(tree, path, Self.node(&random)),
          .enqueue(Lane(tree: tree), .set(path, 1)),
        ])
      case 4, 5:
        let isDefault = Bool.random(using: &random)
        let id = try await backend.commit([
          .saveQuery(
            TrackedQuery(
              tree: tree, path: path,
              parameters: isDefault ? TrackedQuery.defaultParameters : "{\"l\":\(step % 3)}",
              lastUse: UInt64.random(in: 0...99, using: &random)))
        ]).queries[0]
        queries.append((tree, id))
        if !isDefault {
          try await backend.commit([.setTrackedKeys(tree, id, ["a", "m3", "m4", "7"])])
        }
      case 6: try await backend.commit([.pin(Pin(tree: tree, path: path))])
      case 7: try await backend.commit([.unpin(Pin(tree: tree, path: path))])
      case 8:
        guard let (tree, id) = queries.randomElement(using: &random) else { continue }
        backend.setActive(Bool.random(using: &random), id, in: tree)
      case 9: while try await backend.tidy(.milliseconds(50)) {}
      default:
        let part = [0, 1, 2, 3].randomElement(using: &random) ?? 0
        let target = try backend.space().cache / 4 * part
        _ = try await backend.evict(to: target, dryRun: true)
        _ = try await backend.evict(to: target, dryRun: false)
      }
      try expectExactUsage(backend.store, "step \(step), seed \(seed)", inFull: true)
    }
  }
}
