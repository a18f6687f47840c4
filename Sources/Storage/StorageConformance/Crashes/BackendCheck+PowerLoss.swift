internal import ConiferKeyValue
internal import ConiferStorage

extension BackendCheck {
  /// Power cuts in recorded programs; `CONIFER_CRASHES` in the environment sets how many images of
  /// them a backend must recover from, `CONIFER_CRASH` repeats one.
  static var powerLosses: [BackendCheck] {
    [
      BackendCheck(.powerLoss, "a prefix of the commits with every durable one is there") {
        fixture in
        var count = PowerLoss.Count()
        let command = try PowerLoss.Command.asked
        let images = try images(fixture.factory)
        let seeds = try seeds(of: .programs, images, command)
        for seed in seeds {
          let program = try await PowerLoss.record(fixture.factory, seed: seed)
          let start = CrashVerdict(states: program.states, acknowledged: 0, issued: 0)
          if let cut = command?.cut {
            try await program.check([cut.point], start, "", { _ in [cut.image] }, &count)
            continue
          }
          // Four images a point.
          let points = program.points(atMost: max(1, images / seeds.count / 4))
          try await program.check(points, start, "", DiskImage.some(at:), &count)
        }
        CheckRecord.current?.count("points of power loss", count.points)
        CheckRecord.current?.count("images of power loss", count.images)
      },
      BackendCheck(.powerLoss, "a crash during recovery, or soon after a kill, costs nothing more")
      {
        fixture in
        var count = PowerLoss.Count()
        let command = try PowerLoss.Command.asked
        let images = try images(fixture.factory)
        let seeds = try seeds(of: .recoveries, images, command)
        for seed in seeds {
          let program = try await PowerLoss.record(fixture.factory, seed: seed)
          if let command, let (crash, second) = command.recovery {
            try await program.checkRecovery(
              at: command.cut.point, command.cut.image, after: crash, .one(second), &count)
            continue
          }
          let firsts = program.points(atMost: max(2, images / 16))
          for (index, point) in firsts.enumerated() {
            let isKill = index % 2 == 0
            try await program.checkRecovery(
              at: point, isKill ? .everything : .random(UInt64(point)),
              after: isKill ? .kill : .cut,
              .some(max(1, images / seeds.count / firsts.count / 4)), &count)
          }
          // Bytes that were not synced when the process died become durable with the next durable
          // commit.
          for point in program.pointsOfNames.prefix(images / 8) {
            try await program.checkRecovery(
              at: point, .everything, after: .kill, .acknowledged, &count)
          }
        }
        CheckRecord.current?.count("points of power loss", count.points)
        CheckRecord.current?.count("images of power loss in recovery", count.images)
      },
      BackendCheck(
        .powerLoss, "a prefix of concurrent commits with every durable one is there"
      ) { fixture in
        let count = try await cut(fixture.factory, from: 2001, commits: 8) {
          Writers(seed: $0, strongest: .power)
        }
        CheckRecord.current?.count("points of power loss", count.points)
        CheckRecord.current?.count("images of power loss with writers at once", count.images)
      },
    ]
  }

  /// Power cuts in a stream of nodes.
  static let nodePowerLosses: [BackendCheck] = [
    BackendCheck(
      .powerLoss, "evicted nodes stay gone, pinned ones stay, with dictionaries and indexes"
    ) { fixture in
      guard let stream = NodeStream(fixture.factory) else { throw NotApplicable("evicts nothing") }
      try await cutEvictions(
        cut(fixture.factory, from: 4001, commits: 16, half: true) { _ in stream })
      try stream.requireDictionary()
    }
  ]

  /// Power cuts in a stream of documents.
  static let documentPowerLosses: [BackendCheck] = [
    BackendCheck(
      .powerLoss, "evicted documents stay gone, needed ones stay, and indexes find all"
    ) { fixture in
      guard let stream = DocumentStream(fixture.factory) else {
        throw NotApplicable("evicts no documents")
      }
      try await cutEvictions(cut(fixture.factory, from: 3001, commits: 24) { _ in stream })
      if stream.indexing, let record = CheckRecord.current {
        try require(
          record.counts[DocumentStream.indexedQueries] != nil,
          "no query was answered by an index after any cut")
      }
    }
  ]

  /// Counts what was cut of a stream, and requires that some cuts fell between its commits, where it evicts.
  private static func cutEvictions(_ count: PowerLoss.Count) throws {
    CheckRecord.current?.count("points of power loss", count.points)
    CheckRecord.current?.count("images of power loss with evictions", count.images)
    CheckRecord.current?.count("images of power loss in housekeeping", count.ofHousekeeping)
    try require(count.ofHousekeeping > 0, "no cut fell between the commits")
  }

  /// Runs workloads and cuts the power.
  ///
  /// - Parameter half: whether half of the images are enough, because much is read of each.
  private static func cut(
    _ factory: BackendFactory, from first: UInt64, commits: Int, half: Bool = false,
    _ workload: (UInt64) -> any CrashWorkload
  ) async throws -> PowerLoss.Count {
    if try PowerLoss.Command.asked != nil {
      throw NotApplicable("CONIFER_CRASH names a cut of another check")
    }
    var count = PowerLoss.Count()
    let images = try images(factory) / (half ? 2 : 1)
    let seeds =
      try Variable.seed().map { [$0] } ?? Array(first..<first + UInt64(max(2, images / 400)))
    for seed in seeds {
      let record = try await WorkloadRecord(
        workload(seed), factory, seed: seed, commits: commits)
      try await record.check(pointsAtMost: max(1, images / seeds.count / 8), &count)
    }
    return count
  }

  /// The approximate number of images of each check.
  private static func images(_ factory: BackendFactory) throws -> Int {
    factory.share(of: try Variable.count("CONIFER_CRASHES") ?? 200)
  }

  /// What is recorded and cut.
  private enum Cuts: UInt64 {
    case programs = 1
    case recoveries = 1001
  }

  /// The seeds of the programs that are cut: more for more images, or that of a command.
  private static func seeds(
    of kind: Cuts, _ images: Int, _ command: PowerLoss.Command?
  ) throws -> [UInt64] {
    if let command {
      guard (command.recovery != nil) == (kind == .recoveries) else {
        throw NotApplicable("CONIFER_CRASH names a cut of another check")
      }
      return [command.cut.seed]
    }
    if let seed = try Variable.seed() { return [seed] }
    return (0..<UInt64(max(3, images / 300))).map { kind.rawValue + $0 }
  }
}
