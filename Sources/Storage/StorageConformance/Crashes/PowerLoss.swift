internal import ConiferKeyValue
internal import ConiferStorage

/// A program's file calls, and the power cuts that can be made in them.
struct PowerLoss: Sendable {
  /// The numbers of points and images that were tried, for reports.
  struct Count: Sendable {
    var points = 0
    var images = 0
    /// Images of cuts between commits.
    var ofHousekeeping = 0
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
  /// The kinds of edits of its commits, by the numbers in their marks.
  let kinds: [Int: Set<EditKind>]

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
      issue: { session.mark(.issued($0)) },
      acknowledge: { session.mark($1 == .power ? .acknowledged($0) : .returned) })
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
      factory: factory, seed: seed, disk: disk, entries: session.entries(), states: run.states,
      kinds: Dictionary(
        uniqueKeysWithValues: run.states.enumerated().map { ($0, EditKind.kinds(of: $1.edits)) }))
  }

  /// Points between operations at which a cut has a new result: all of them when they are few.
  func points(atMost count: Int) -> [Int] {
    var random = SeededRandom(seed: seed)
    return cutPoints.some(count, &random)
  }

  /// The points of its operations.
  var cutPoints: CutPoints { CutPoints(entries, on: disk, kinds: kinds) }

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
      if case .mark(let number) = entry, case .acknowledged(states.count - 1) = CommitMark(number) {
        true
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
        switch CommitMark(number) {
        case .issued(let state): issued = max(issued, state)
        case .acknowledged(let state): acknowledged = max(acknowledged, state)
        case .returned, nil: break
        }
      }
      _ = disk.play(entry)
    }
    return CrashVerdict(states: states, acknowledged: acknowledged, issued: issued)
  }
}
