internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// Concurrent writers. Each commits to a place of its own and to one shared queue, whose numbers
/// give the order of the commits.
struct Writers: CrashWorkload {
  private static let count = 4
  static let tree = "writers"

  let seed: UInt64
  /// The strongest durability of a commit.
  let strongest: Durability

  let words = "\(count) writers at once"
  var callers: Int { Self.count }

  // MARK: What they write

  private static func path(_ writer: Int) -> Path { Path("w\(writer)") }

  private func random(_ writer: Int, _ number: Int) -> SeededRandom {
    var random = SeededRandom(
      seed: seed &* 0x1_0000_0001 &+ UInt64(writer) << 32 &+ UInt64(number))
    _ = random.next()
    return random
  }

  /// The node at a writer's place after one of its commits.
  private func node(_ writer: Int, _ number: Int) -> Node {
    var random = random(writer, number)
    let length = random.one(in: 6) ? 6000 : 60
    return [
      "number": Node(.integer(Int64(number))), "some": random.noise(length),
      "more": random.node(depth: 1, width: 3),
    ]
  }

  private func content(_ writer: Int, _ number: Int) -> WriteContent {
    .set(Self.path(writer), Node(.integer(Int64(number))))
  }

  private func edits(_ writer: Int, _ number: Int, _ tree: TreeID) -> [StorageEdit] {
    [
      .enqueue(Lane(tree: tree), content(writer, number)),
      .overwrite(tree, Self.path(writer), node(writer, number)),
      .setMetadata(tree, "w\(writer)", key(number)),
    ]
  }

  func kinds(of number: Int, by caller: Int) -> Set<EditKind> {
    EditKind.kinds(of: edits(caller, number, TreeID(rawValue: 0)))
  }

  // MARK: Writing

  /// Runs all writers concurrently.
  func run(
    on backend: any StorageBackend, after held: [Int], _ count: Int, isDurable: Bool,
    issue: @escaping @Sendable (Int, Int) -> Void,
    acknowledge: @escaping @Sendable (Int, Int, Int, Durability) -> Void
  ) async throws {
    let tree = try await backend.tree(named: Self.tree)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<Self.count {
        group.addTask {
          for number in (held[writer] + 1)...(held[writer] + count) {
            var random = random(writer, number)
            let levels = Durability.allCases.filter { $0 <= strongest }
            let durability = isDurable ? strongest : random.pick(levels)
            issue(writer, number)
            let receipt = try await backend.commit(edits(writer, number, tree), durability)
            guard let position = receipt.writes.first?.rawValue, receipt.writes.count == 1 else {
              throw ConformanceFailure(.reusedID, "a receipt of one write names \(receipt.writes)")
            }
            acknowledge(writer, number, Int(position), durability)
            guard random.one(in: 5) else { continue }
            try await backend.harden(receipt.commit)
            acknowledge(writer, number, Int(position), strongest)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  // MARK: Checking

  func held(by backend: any StorageBackend, _ bounds: CrashBounds?) throws -> [Int] {
    let (held, failure) = try backend.read { (view) throws(StoreError) in try read(view) }
    if let failure { throw failure }
    try bounds?.require(held, of: words)
    try backend.requireExactUsage()
    try backend.requireSound()
    return held
  }

  private func read(
    _ view: any StorageView
  ) throws(StoreError) -> ([Int], ConformanceFailure?) {
    var held = [Int](repeating: 0, count: Self.count)
    guard let tree = try view.trees().first(where: { $0.name == Self.tree })?.id else {
      return (held, nil)
    }
    let lane = Lane(tree: tree)
    var position: UInt64 = 0
    while true {
      let some = try view.writes(
        lane, after: position == 0 ? nil : WriteID(rawValue: position), limit: 100)
      if some.isEmpty { break }
      for write in some {
        position += 1
        guard write.id.rawValue == position else {
          return (
            held,
            ConformanceFailure(.hole, "the queue has write \(write.id.rawValue), not \(position)")
          )
        }
        let writer = (0..<Self.count).first { content($0, held[$0] + 1) == write.content }
        guard let writer else {
          return (
            held,
            ConformanceFailure(
              .hole, "write \(position) is \(write.content), which follows none of \(held)")
          )
        }
        held[writer] += 1
      }
    }
    let children = (0..<Self.count).filter { held[$0] > 0 }.map { writer in
      (Key("w\(writer)"), node(writer, held[writer]))
    }
    if let bad = try view.node(tree, .root).difference(from: Node(children: children)) {
      return (held, ConformanceFailure(.halfBatch, "the queue ends with \(held), and \(bad)"))
    }
    for writer in 0..<Self.count {
      let found = try view.metadata(tree, "w\(writer)")
      guard found != (held[writer] > 0 ? key(held[writer]) : nil) else { continue }
      return (
        held,
        ConformanceFailure(
          .halfBatch, "writer \(writer) is at \(held[writer]), its metadata \(found ?? [])")
      )
    }
    if let incident = try view.incidents().first {
      return (
        held, ConformanceFailure(.silentLoss, "it reports damage where there was none: \(incident)")
      )
    }
    return (held, nil)
  }
}
