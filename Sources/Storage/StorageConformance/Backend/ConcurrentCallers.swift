internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree
internal import Synchronization

/// Six callers that use all of one backend concurrently, each in a task of its own. Two of them
/// close it while the others go on.
final class ConcurrentCallers: Sendable {
  static let count = 6

  /// What a caller knows of its own commits.
  private struct Progress {
    var acknowledged: Int64 = 0
    var write: WriteID?
    var query: QueryID?
    var commit = CommitID(rawValue: 0)
  }

  private let backend: any StorageBackend
  private let fixture: BackendFixture
  private let seed: UInt64
  private let tree: TreeID
  private let progressOfAll = Mutex(
    [Progress](repeating: Progress(), count: ConcurrentCallers.count))

  /// Callers of a backend that was just opened.
  init(_ fixture: BackendFixture, seed: UInt64) async throws {
    self.fixture = fixture
    self.seed = seed
    backend = try fixture.open()
    tree = try await backend.tree(named: "crowd \(seed)")
    // The data that callers read must not be evicted.
    _ = try await backend.commit([.pin(Pin(tree: tree, path: "members"))], .relaxed)
  }

  /// Runs all callers, then opens the store again and compares.
  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for member in 0..<Self.count { group.addTask { try await self.call(member) } }
      try await group.waitForAll()
    }
    guard fixture.factory.declared.isPersistent else { return }
    let again = try fixture.open()
    for (member, progress) in progressOfAll.withLock({ $0 }).enumerated() {
      let found = try again.node(tree, Self.place(member))
      try require(
        found == Self.node(progress.acknowledged), .lostAcknowledged,
        "\(name(member)) finds \(found) after reopening, \(progress.acknowledged) was acknowledged")
      let pending = try again.read { (view) throws(StoreError) in
        try view.totals(lane(member)).pending
      }
      try requireEqual(pending, progress.write == nil ? 0 : 1, "the queue of \(name(member))")
    }
    try again.requireExactUsage("seed \(seed): ")
    try again.requireSound()
    try await again.close()
  }

  private func name(_ member: Int) -> String { "member \(member) of the crowd of seed \(seed)" }
  private func lane(_ member: Int) -> Lane { Lane(tree: tree, identity: "\(member)") }
  private static func place(_ member: Int) -> Path { Path("members/m\(member)/number") }
  private static func node(_ number: Int64) -> Node {
    number == 0 ? .empty : Node(.integer(number))
  }

  /// Runs one caller.
  private func call(_ member: Int) async throws {
    var random = SeededRandom(seed: seed &* 1_000_003 &+ UInt64(member))
    let steps = Int.random(in: 30...60, using: &random)
    for step in 0..<steps {
      do {
        try await act(member, step, &random)
      } catch let error as StoreError {
        try require(
          [.closed, .suspended].contains(error.code), .wrongError,
          "\(name(member)), step \(step), was answered \(error)")
      }
    }
    guard member < 2 else { return }
    try await backend.close()
    // After closing, every call throws `closed`.
    for step in 0..<4 {
      do {
        try await act(member, step, &random, always: true)
        throw ConformanceFailure(.wrongError, "\(name(member)) was answered after closing")
      } catch let error as StoreError {
        try require(
          error.code == .closed, .wrongError, "\(name(member)) met \(error) after closing")
      }
    }
  }

  private func act(
    _ member: Int, _ step: Int, _ random: inout SeededRandom, always: Bool = false
  ) async throws {
    let progress = progressOfAll.withLock { $0[member] }
    let kind =
      always ? Int.random(in: 0..<9, using: &random) : Int.random(in: 0..<24, using: &random)
    switch kind {
    case 0...7: try await commit(member, progress, &random)
    case 8: _ = try await backend.tidy(.milliseconds(1))
    case 9...12:
      let found = try backend.node(tree, Self.place(member))
      try require(
        found == Self.node(progress.acknowledged), .staleView,
        "\(name(member)), step \(step), reads \(found) after \(progress.acknowledged)")
    case 13:
      _ = try backend.read { (view) throws(StoreError) in
        (try view.node(tree, .root), try view.usage(nil), try view.totals(lane(member)))
      }
    case 14: try backend.requireSound()
    case 15: _ = try backend.size()
    case 16: try await backend.harden(progress.commit)
    case 17: _ = try await backend.tree(named: "crowd \(seed)")
    case 18 where member == 2:
      // Another caller may have closed it in between.
      try await backend.suspend()
      try await backend.resume()
    case 19 where fixture.factory.evicts:
      _ = try await backend.evicting().evict(
        to: random.chance(50) ? 0 : 1 << 30, dryRun: random.chance(30))
    case 20 where fixture.factory.evicts:
      _ = (try backend.evicting().space(), try backend.evicting().explain(tree, "members"))
    case 21:
      if let query = progress.query { backend.setActive(random.chance(50), query, in: tree) }
    case 22:
      let query = TrackedQuery(tree: tree, path: Path("others/o\(member)"))
      let edits: [StorageEdit] = [
        .overwrite(tree, query.path, Node(.integer(Int64(step)))), .saveQuery(query),
      ]
      let receipt = try await backend.commit(edits, .relaxed)
      progressOfAll.withLock { $0[member].query = receipt.queries.first }
    default: await Task.yield()
    }
  }

  private func commit(
    _ member: Int, _ progress: Progress, _ random: inout SeededRandom
  ) async throws {
    let number = progress.acknowledged + 1
    let place = Self.place(member)
    var edits: [StorageEdit] = [
      .overwrite(tree, place, Node(.integer(number))),
      .overwrite(
        tree, Path("members/m\(member)/noise"), random.noise(random.one(in: 5) ? 6000 : 80)),
      .enqueue(lane(member), .set(place, Node(.integer(number)))),
    ]
    if let write = progress.write { edits.append(.finish(lane(member), write, .acknowledged)) }
    let levels = Durability.allCases.filter { $0 <= fixture.factory.declared.strongest }
    let durability = random.pick(levels)
    let receipt =
      random.chance(40)
      ? try backend.commitAndWait(edits, durability)
      : try await backend.commit(edits, durability)
    progressOfAll.withLock {
      $0[member].acknowledged = number
      $0[member].write = receipt.writes.first
      $0[member].commit = receipt.commit
    }
  }
}

extension BackendCheck {
  /// Concurrent calls.
  ///
  /// `CONIFER_CROWDS` in the environment says how many seeds are tried; `CONIFER_SEED` names a
  /// single one.
  static let concurrentCalls: [BackendCheck] = [
    BackendCheck(
      .store, "many threads call everything at any time, closing too", .lostAcknowledged
    ) { fixture in
      let count = try Variable.count("CONIFER_CROWDS") ?? fixture.factory.share(of: 4)
      for seed in try Variable.seed().map({ [$0] }) ?? Array(1...UInt64(count)) {
        try await ConcurrentCallers(fixture, seed: seed).run()
      }
    }
  ]
}
