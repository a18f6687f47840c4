internal import ConiferKeyValue
internal import ConiferQuery
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Seeded random programs; `CONIFER_SEED` replays one seed, `CONIFER_PROGRAMS` sets how many run.
  static let programs: [BackendCheck] = [
    BackendCheck(.programs, "random programs leave what the model holds", .wrongData) { bench in
      for seed in try seeds(3, bench.factory) {
        try await run(TreeProgram(seed: seed, length: 60), of: seed, bench.factory)
        CheckRecord.current?.count("random programs")
      }
    }
  ]

  /// The same with evictions, listening and explanations; the model takes over what was evicted.
  static let evictionPrograms: [BackendCheck] = [
    BackendCheck(
      .eviction, "random programs with evictions lose nothing that is covered", .falseComplete
    ) {
      bench in
      for seed in try seeds(4, bench.factory) {
        let program = TreeProgram(seed: seed &+ 2000, length: 60, evicting: true)
        try await run(program, of: seed, bench.factory)
        CheckRecord.current?.count("random programs")
      }
    },
    BackendCheck(
      .eviction, "usage ends at nothing after random programs with evictions", .usageDrift
    ) {
      bench in
      for seed in try seeds(3, bench.factory) {
        let inner = try BackendBench(bench.factory)
        let twin = try await inner.twin()
        let empty = try twin.usage(nil)
        let program = TreeProgram(seed: seed &+ 3000, length: 40, evicting: true)
        try await program.run(on: twin, interval: 40)
        try await twin.reopen()
        for name in twin.active { twin.setActive(false, name.query, in: name.tree) }
        for tree in twin.trees {
          try await twin.commit(try twin.model.tree(tree).pins.map { .unpin($0) })
        }
        try await twin.evict(to: 0)
        let left = try twin.usage(nil)
        try requireEqual(left.cache, 0, "usage.cache after evicting all, seed \(seed)")
        try requireEqual(left.rawCache, 0, "usage.rawCache after evicting all, seed \(seed)")
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
    ) { bench in
      let definitions = [
        try IndexDefinition(.root, by: .value), try IndexDefinition("$x", by: .child("a")),
        try IndexDefinition("$x/$y", by: .priority), try IndexDefinition("a", by: .child("b/1")),
      ]
      for seed in try seeds(6, bench.factory) {
        let inner = try BackendBench(bench.factory)
        let twin = try await inner.twin()
        try await twin.commit(twin.trees.map { .setIndexes($0, definitions) })
        let evicting = bench.factory.evicts && seed % 2 == 0
        let program = TreeProgram(seed: seed &+ 4000, length: 60, evicting: evicting)
        do {
          try await program.run(on: twin, interval: 4)
          var random = SeededRandom(seed: seed)
          for path in [.root, "a", "b", "a/b", "1"] as [Path] {
            try twin.answers(path, 10, &random, "after a program")
          }
          try await twin.settleIndexes()
          try twin.isSound()
        } catch {
          await inner.finish()
          throw ConformanceFailure("with the seed \(seed), \(error)")
        }
        await inner.finish()
      }
    }
  ]

  /// Runs a program, and shortens it when it fails.
  private static func run(
    _ program: TreeProgram, of seed: UInt64, _ factory: BackendFactory
  ) async throws {
    do {
      try await program.run(factory)
    } catch {
      let (shortest, reason) = await program.shrunk(factory)
      throw ConformanceFailure(
        ConformanceFailure.anomaly(of: error),
        "\(error)\nCONIFER_SEED=\(seed) makes it again; the shortest program that fails, "
          + "with \(reason):\n\(shortest)", seed: seed)
    }
  }

  /// The seeds of the programs that a run tries: a part of the standard number on a variant.
  private static func seeds(_ standard: Int, _ factory: BackendFactory?) throws -> [UInt64] {
    if let seed = try Variable.seed() { return [seed] }
    let count = try Variable.count("CONIFER_PROGRAMS") ?? factory?.share(of: standard) ?? standard
    return Array(1...UInt64(count))
  }

  /// Runs the same programs on several backends or option sets and compares what each holds then
  /// with what the first one holds: trees, queries, pins and queues.
  ///
  /// - Parameter factories: the backends, two at least.
  /// - Throws: ``ConformanceFailure`` with the first difference and the seed; `StoreError` when a
  ///   backend refuses a step.
  public static func agreement(of factories: [BackendFactory]) async throws {
    for seed in try seeds(2, nil) {
      var benches: [BackendBench] = []
      var twins: [Twin] = []
      var program = TreeProgram(seed: seed &+ 1000, length: 40)
      // A backend that forgets at closing would not hold what the others do.
      program.steps.removeAll { if case .reopen = $0 { true } else { false } }
      do {
        for factory in factories {
          let bench = try BackendBench(factory)
          benches.append(bench)
          let twin = try await bench.twin()
          twins.append(twin)
          try await program.run(on: twin, interval: 20)
        }
        for twin in twins.dropFirst() {
          let difference = try twins[0].backend.read { (first) throws(StoreError) in
            try twin.backend.read { (other) throws(StoreError) in
              try StateDifference(other, first).first()
            }
          }
          try require(
            difference == nil,
            "seed \(seed): \(twin.bench.factory) is not as \(factories[0]): \(difference ?? "")")
        }
      } catch {
        for bench in benches { await bench.finish() }
        throw error
      }
      for bench in benches { await bench.finish() }
    }
  }
}
