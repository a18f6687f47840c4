internal import ConiferKeyValue
internal import ConiferStorage

extension BackendCheck {
  /// Seeded random programs; `CONIFER_SEED` replays one seed, `CONIFER_PROGRAMS` sets how many run.
  static let programs: [BackendCheck] = [
    BackendCheck(.programs, "random programs leave what the model holds") { bench in
      for seed in seeds(3) {
        let program = TreeProgram(seed: seed, length: 60)
        do {
          try await program.run(bench.factory)
        } catch {
          let (shortest, reason) = await program.shrunk(bench.factory)
          throw ConformanceFailure(
            "\(error)\nCONIFER_SEED=\(seed) makes it again; the shortest program that fails, "
              + "with \(reason):\n\(shortest)")
        }
      }
    }
  ]

  /// The seeds of the programs that a run tries.
  private static func seeds(_ standard: UInt64) -> [UInt64] {
    if let seed = System.variable("CONIFER_SEED").flatMap({ UInt64($0) }) { return [seed] }
    let count = System.variable("CONIFER_PROGRAMS").flatMap { UInt64($0) } ?? standard
    return Array(1...max(1, count))
  }

  /// Runs the same programs on several backends or option sets and compares what each holds then
  /// with what the first one holds: trees, queries, pins and queues.
  ///
  /// - Parameter factories: the backends, two at least.
  /// - Throws: ``ConformanceFailure`` with the first difference and the seed; `StoreError` when a
  ///   backend refuses a step.
  public static func agreement(of factories: [BackendFactory]) async throws {
    for seed in seeds(2) {
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
