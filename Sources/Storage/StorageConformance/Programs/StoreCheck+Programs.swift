internal import ConiferKeyValue

extension StoreCheck {
  /// How many shorter programs are tried after a failure.
  @TaskLocal static var shrinkingAttempts = 400

  /// The first seed of checks that try several.
  @TaskLocal static var firstSeed: UInt64 = 1

  /// The seeds of a check that tries so many; one that is asked for comes instead.
  static func seeds(_ count: Int) throws -> [UInt64] {
    try Variable.seed().map { [$0] } ?? (0..<UInt64(count)).map { firstSeed + $0 }
  }

  static var programs: [StoreCheck] {
    [
      // CONIFER_SEED replays one seed, CONIFER_PROGRAMS sets how many are run.
      StoreCheck("Random programs get the answers of a sorted array", .wrongData) { factory in
        let count = try Variable.count("CONIFER_PROGRAMS") ?? 10
        for seed in try seeds(count) {
          // Some flaws come with the commits of one life.
          let program =
            seed % longEvery == 0
            ? Program(seed: seed, length: 240, lives: 20, factory.declared)
            : Program(seed: seed, length: 60, factory.declared)
          try run(program, seed, factory)
          CheckRecord.current?.count("random programs")
        }
      }
    ]
  }

  /// Of so many programs one is long.
  private static let longEvery: UInt64 = 5

  /// Runs a program. When it fails, shrinks it and throws the failure of the shortest program.
  private static func run(_ program: Program, _ seed: UInt64, _ factory: StoreFactory) throws {
    do {
      try program.run(factory)
    } catch {
      var (reason, anomaly) = ("\(error)", ConformanceFailure.anomaly(of: error))
      let shortest = program.shrunk(attempts: shrinkingAttempts) { smaller in
        do {
          try smaller.run(factory)
          return false
        } catch {
          (reason, anomaly) = ("\(error)", ConformanceFailure.anomaly(of: error))
          return true
        }
      }
      throw ConformanceFailure(
        anomaly,
        "\(reason)\nCONIFER_SEED=\(seed) reproduces it; the shortest program that fails:\n"
          + "\(shortest)", seed: seed)
    }
  }
}
