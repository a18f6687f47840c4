internal import ConiferKeyValue
internal import ConiferStorage

/// A program's file calls, and the power cuts that can be made in them.
struct PowerLoss: Sendable {
  /// The numbers of points and images that were tried, for reports.
  struct Count: Sendable {
    var points = 0
    var images = 0
  }

  /// One image of a power cut in a program, as a command names it.
  struct Cut: Sendable, CustomStringConvertible {
    let seed: UInt64
    /// The number of operations before it.
    let point: Int
    let image: DiskImage

    var description: String { "\(seed):\(point):\(image)" }
  }

  let factory: BackendFactory
  let seed: UInt64
  let disk: SimulatedDisk
  let entries: [IOEntry]
  let states: [CrashState]

  /// Marks in the record say where a state was issued and where it was acknowledged.
  private static func issued(_ state: Int) -> Int { 2 * state }
  private static func acknowledged(_ state: Int) -> Int { 2 * state + 1 }

  /// Runs a program's first steps in a new directory and records its file calls.
  static func record(_ factory: BackendFactory, seed: UInt64) async throws -> PowerLoss {
    let directory = try System.makeTemporaryDirectory(isFast: true)
    defer { System.removeTree(directory) }
    // Every third program is long enough to include folding and checkpoints.
    let steps = seed % 3 == 0 ? 60 : 16
    return try await record(
      factory, seed, in: directory, SimulatedDisk(), [CrashState(model: .init(), step: 0)], steps)
  }

  /// Runs steps of a program on the store in a directory.
  ///
  /// - Parameters:
  ///   - disk: the durable state of the directory.
  ///   - states: the states that the store has passed through.
  ///   - steps: how many steps it runs; nil for one durable commit.
  static func record(
    _ factory: BackendFactory, _ seed: UInt64, in directory: String, _ disk: SimulatedDisk,
    _ states: [CrashState], _ steps: Int?
  ) async throws -> PowerLoss {
    let session = try IOSession.record(directory)
    defer { session.end() }
    let program = CrashProgram(
      seed: seed, strongest: .power, isWhole: true, documents: factory.documents)
    var options = factory.options
    options.budget = nil
    let run = try await CrashRun(
      program, after: states, open: { [options] in try factory.open(directory, options) },
      issue: { session.mark(issued($0)) },
      acknowledge: { if $1 == .power { session.mark(acknowledged($0)) } })
    do {
      if let steps {
        for step in 1...steps { try await run.run(step) }
      } else {
        try await run.commitOnceMore()
      }
    } catch {
      try? await run.close()
      throw error
    }
    try await run.close()
    return PowerLoss(
      factory: factory, seed: seed, disk: disk, entries: session.entries(), states: run.states)
  }

  /// The points between operations at which a cut has a new result: all of them when they are few;
  /// otherwise a sample of those after an acknowledgement, a sync or a change of names, and a
  /// sample of the others.
  func points(atMost count: Int) -> [Int] {
    var disk = disk
    var acknowledgements: [Int] = []
    var boundaries: [Int] = []
    var others: [Int] = []
    for (index, entry) in entries.enumerated() {
      let isChanged = disk.play(entry)
      switch entry {
      case .mark(let number): if number % 2 == 1 { acknowledgements.append(index + 1) }
      case .write, .resize: if isChanged { others.append(index + 1) }
      default: if isChanged { boundaries.append(index + 1) }
      }
    }
    var random = SeededRandom(seed: seed)
    var points: [Int] = []
    var left = count
    for (kind, share) in [(acknowledgements, 3), (boundaries, 2), (others, 1)] {
      let some = kind.shuffled(using: &random).prefix((left + share - 1) / share)
      points += some
      left -= some.count
    }
    let rest = Set(acknowledgements + boundaries + others).subtracting(points).sorted()
    return (points + rest.shuffled(using: &random).prefix(left)).sorted()
  }

  /// The points after changes of names whose directory is not synced yet.
  var pointsOfNames: [Int] {
    var disk = disk
    return entries.indices.compactMap { index in
      let before = disk.pending.count
      _ = disk.play(entries[index])
      return disk.pending.count > before ? index + 1 : nil
    }
  }

  /// The point at which the newest state was first acknowledged.
  var pointOfAcknowledgement: Int? {
    entries.firstIndex { entry in
      if case .mark(let number) = entry {
        number == Self.acknowledged(states.count - 1)
      } else {
        false
      }
    }.map { $0 + 1 }
  }

  /// Plays the operations up to a point on the disk; returns which states must and may be there.
  func cut(at point: Int, from first: Int, _ disk: inout SimulatedDisk, _ verdict: CrashVerdict)
    -> CrashVerdict
  {
    var (acknowledged, issued) = (verdict.acknowledged, verdict.issued)
    for entry in entries[first..<point] {
      if case .mark(let number) = entry {
        if number % 2 == 0 {
          issued = max(issued, number / 2)
        } else {
          acknowledged = max(acknowledged, number / 2)
        }
      }
      _ = disk.play(entry)
    }
    return CrashVerdict(states: states, acknowledged: acknowledged, issued: issued)
  }
}
