internal import ConiferKeyValue

extension StoreCheck {
  static var programs: [StoreCheck] {
    [
      // CONIFER_SEED replays one seed, CONIFER_PROGRAMS sets how many are run.
      StoreCheck("Random programs get the answers of a sorted array", .wrongData) { factory in
        let count = try Variable.count("CONIFER_PROGRAMS") ?? 10
        let seeds = try Variable.seed().map { [$0] } ?? Array(1...UInt64(count))
        for seed in seeds {
          try run(Program(seed: seed, length: 60, factory.declared), seed, factory)
          CheckRecord.current?.count("random programs")
        }
      }
    ]
  }

  /// Runs a program. When it fails, shrinks it and throws the failure of the shortest program.
  private static func run(_ program: Program, _ seed: UInt64, _ factory: StoreFactory) throws {
    do {
      try program.run(factory)
    } catch {
      var (reason, anomaly) = ("\(error)", ConformanceFailure.anomaly(of: error))
      let shortest = program.shrunk { smaller in
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
