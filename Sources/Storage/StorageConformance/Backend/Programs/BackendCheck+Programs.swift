internal import ConiferKeyValue
internal import ConiferQuery
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Seeded random programs; `CONIFER_SEED` replays one seed, `CONIFER_PROGRAMS` sets how many run.
  static let programs: [BackendCheck] = [
    BackendCheck(.programs, "random programs leave what the model holds", .wrongData) { fixture in
      for seed in try seeds(3, fixture.factory) {
        try await run(TreeProgram(seed: seed, length: 60), of: seed, fixture.factory)
        CheckRecord.current?.count("random programs")
      }
    }
  ]

  /// The same with evictions, listening and explanations. The model follows each eviction's report.
  static let evictionPrograms: [BackendCheck] = [
    BackendCheck(
      .eviction, "random programs with evictions lose nothing that is covered", .falseComplete
    ) {
      fixture in
      for seed in try seeds(4, fixture.factory) {
        let program = TreeProgram(seed: seed &+ 2000, length: 60, evicting: true)
        try await run(program, of: seed, fixture.factory)
        CheckRecord.current?.count("random programs")
      }
    },
    BackendCheck(
      .eviction, "usage ends at zero after random programs with evictions", .usageDrift
    ) {
      fixture in
      for seed in try seeds(3, fixture.factory) {
        let inner = try BackendFixture(fixture.factory)
        let pair = try await inner.pair()
        let empty = try pair.usage(nil)
        let program = TreeProgram(seed: seed &+ 3000, length: 40, evicting: true)
        try await program.run(on: pair, interval: 40)
        try await pair.reopen()
        for name in pair.active { pair.setActive(false, name.query, in: name.tree) }
        for tree in pair.trees {
          try await pair.commit(try pair.model.tree(tree).pins.map { .unpin($0) })
        }
        try await pair.evict(to: 0)
        let left = try pair.usage(nil)
        try requireEqual(left.leafBytes, 0, "usage.leafBytes after evicting all, seed \(seed)")
        try requireEqual(
          left.rawLeafBytes, 0, "usage.rawLeafBytes after evicting all, seed \(seed)")
        try requireEqual(left.leaves, 0, "usage.leaves after evicting all, seed \(seed)")
        try requireEqual(left.pins, 0, "usage.pins after evicting all, seed \(seed)")
        try require(
          left.trackedQueries <= empty.trackedQueries + 128,
          "usage.trackedQueries is \(left.trackedQueries) without a query, seed \(seed)")
        await inner.finish()
        CheckRecord.current?.count("random programs")
      }
    },
  ]

  /// The same with indexes over what the programs write, in both trees.
  static let indexPrograms: [BackendCheck] = [
    BackendCheck(
      .indexes, "random programs leave the indexes in step with the data", .wrongData
    ) { fixture in
      let definitions = [
        try IndexDefinition(.root, by: .value), try IndexDefinition("$x", by: .child("a")),
        try IndexDefinition("$x/$y", by: .priority), try IndexDefinition("a", by: .child("b/1")),
      ]
      for seed in try seeds(6, fixture.factory) {
        let inner = try BackendFixture(fixture.factory)
        let pair = try await inner.pair()
        try await pair.commit(pair.trees.map { .setIndexes($0, definitions) })
        let evicting = fixture.factory.evicts && seed % 2 == 0
        let program = TreeProgram(seed: seed &+ 4000, length: 60, evicting: evicting)
        do {
          try await program.run(on: pair, interval: 4)
          var random = SeededRandom(seed: seed)
          for path in [.root, "a", "b", "a/b", "1"] as [Path] {
            try pair.requireAnswers(path, 10, &random, "after a program")
          }
          try await pair.finishIndexes()
          try pair.isSound()
        } catch {
          await inner.finish()
          throw ConformanceFailure("with the seed \(seed), \(error)")
        }
        await inner.finish()
      }
    }
  ]

  /// Runs a program, and shortens it when it fails.
  static func run(
    _ program: TreeProgram, of seed: UInt64, _ factory: BackendFactory
  ) async throws {
    do {
      try await program.run(factory)
    } catch {
      let (shortest, reason) = await program.shrunk(factory)
      throw ConformanceFailure(
        ConformanceFailure.anomaly(of: error),
        "\(error)\nCONIFER_SEED=\(seed) reproduces it; the shortest program that fails, "
          + "with \(reason):\n\(shortest)", seed: seed)
    }
  }

  /// The seeds of the programs that a run tries; a variant gets a part of the standard number.
  static func seeds(_ standard: Int, _ factory: BackendFactory?) throws -> [UInt64] {
    if let seed = try Variable.seed() { return [seed] }
    let count = try Variable.count("CONIFER_PROGRAMS") ?? factory?.share(of: standard) ?? standard
    return Array(1...UInt64(count))
  }

  /// Runs the same programs on several backends or sets of options, and compares the final state of
  /// each (trees, queries, pins and queues, and documents where all keep some) with the first one's.
  ///
  /// - Parameter factories: the backends, two at least.
  /// - Throws: ``ConformanceFailure`` with the first difference and the seed; `StoreError` when a
  ///   backend refuses a step.
  public static func agreement(of factories: [BackendFactory]) async throws {
    let documents = factories.compactMap(\.documents)
    for seed in try seeds(2, nil) {
      try await agree(on: TreeProgram(seed: seed &+ 1000, length: 40), of: seed, factories)
      guard documents.count == factories.count else { continue }
      let common = TreeProgram.Documents(indexing: documents.allSatisfy(\.indexing))
      try await agree(on: TreeProgram(seed: seed &+ 6000, length: 40, common), of: seed, factories)
    }
  }

  private static func agree(
    on program: TreeProgram, of seed: UInt64, _ factories: [BackendFactory]
  ) async throws {
    var program = program
    // A backend that is not persistent would lose its state at closing.
    program.steps.removeAll { if case .reopen = $0 { true } else { false } }
    var fixtures: [BackendFixture] = []
    var pairs: [ModelPair] = []
    do {
      for factory in factories {
        let fixture = try BackendFixture(factory)
        fixtures.append(fixture)
        let pair = try await fixture.pair()
        pairs.append(pair)
        if program.hasDocuments { try await pair.makeDocuments() }
        try await program.run(on: pair, interval: 20)
      }
      for pair in pairs.dropFirst() {
        let difference = try pairs[0].backend.read { (first) throws(StoreError) in
          try pair.backend.read { (other) throws(StoreError) in
            try StateDifference(other, first).first()
          }
        }
        try require(
          difference == nil,
          "seed \(seed): \(pair.fixture.factory) is not as \(factories[0]): \(difference ?? "")")
      }
    } catch {
      for fixture in fixtures { await fixture.finish() }
      throw error
    }
    for fixture in fixtures { await fixture.finish() }
  }
}
