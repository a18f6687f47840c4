internal import ConiferKeyValue
internal import ConiferStorage

extension BackendCheck {
  /// Power cuts in recorded programs; `CONIFER_CRASHES` in the environment sets how many images of
  /// them a backend must recover from, `CONIFER_CRASH` repeats one.
  static var powerLosses: [BackendCheck] {
    [
      BackendCheck(.powerLoss, "a prefix of the commits with every durable one is there") { bench in
        var count = PowerLoss.Count()
        let seeds = seeds(of: .programs)
        for seed in seeds {
          let program = try await PowerLoss.record(bench.factory, seed: seed)
          let start = CrashVerdict(states: program.states, acknowledged: 0, issued: 0)
          if let (cut, _, _) = command {
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
        bench in
        var count = PowerLoss.Count()
        let seeds = seeds(of: .recoveries)
        for seed in seeds {
          let program = try await PowerLoss.record(bench.factory, seed: seed)
          if let (cut, second, crash) = command {
            guard let second else { continue }
            try await program.checkRecovery(
              at: cut.point, cut.image, after: crash, .one(second), &count)
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
          // What nobody synced when the process died is durable with the next durable commit.
          for point in program.pointsOfNames.prefix(images / 8) {
            try await program.checkRecovery(
              at: point, .everything, after: .kill, .acknowledged, &count)
          }
        }
        CheckRecord.current?.count("points of power loss", count.points)
        CheckRecord.current?.count("images of power loss in recovery", count.images)
      },
    ]
  }

  /// About how many images each of the checks tries.
  private static var images: Int {
    System.variable("CONIFER_CRASHES").flatMap { Int($0) }.map { max(1, $0) } ?? 200
  }

  /// What is cut.
  private enum Cuts: UInt64 {
    case programs = 1
    case recoveries = 1001
  }

  /// The seeds of the programs that are cut: more of them for more images, and that of a command.
  private static func seeds(of kind: Cuts) -> [UInt64] {
    if let (cut, second, _) = command {
      return (second != nil) == (kind == .recoveries) ? [cut.seed] : []
    }
    if let seed = System.variable("CONIFER_SEED").flatMap({ UInt64($0) }) { return [seed] }
    return (0..<UInt64(max(3, images / 300))).map { kind.rawValue + $0 }
  }

  /// The cut that `CONIFER_CRASH` names, and the one in the recovery from it.
  private static var command: (PowerLoss.Cut, PowerLoss.Cut?, PowerLoss.Crash)? {
    guard let text = System.variable("CONIFER_CRASH") else { return nil }
    let parts = text.split(separator: "+", maxSplits: 1)
    guard let first = parts.first.flatMap({ PowerLoss.Cut($0) }) else { return nil }
    guard parts.count == 2, let colon = parts[1].firstIndex(of: ":"),
      let crash = PowerLoss.Crash(rawValue: String(parts[1][..<colon]))
    else { return (first, nil, .cut) }
    return (first, PowerLoss.Cut(parts[1][colon...].dropFirst()), crash)
  }
}

extension PowerLoss.Cut {
  /// The cut with a spelling: seed, point, image.
  init?(_ text: Substring) {
    let parts = text.split(separator: ":")
    guard parts.count == 3, let seed = UInt64(parts[0]), let point = Int(parts[1]),
      let image = DiskImage(parts[2])
    else { return nil }
    self.init(seed: seed, point: point, image: image)
  }
}
