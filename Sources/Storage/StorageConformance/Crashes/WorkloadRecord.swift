internal import ConiferKeyValue
internal import ConiferStorage

/// The file calls of a workload, and the power cuts that can be made in them.
///
/// Callers interleave at random, so a seed does not reproduce a record: a failure names the
/// point in its own record.
struct WorkloadRecord: Sendable {
  private let workload: any CrashWorkload
  private let record: PowerLoss

  /// How many points between the commits of a stream are cut besides.
  private static let mostBetween = 3

  /// Runs a workload in a new directory and records its file calls.
  ///
  /// - Parameter seed: what chooses the points.
  init(
    _ workload: any CrashWorkload, _ factory: BackendFactory, seed: UInt64, commits: Int
  ) async throws {
    let directory = try System.makeTemporaryDirectory(isFast: true)
    defer { System.removeTree(directory) }
    let session = try IOSession.record(directory)
    defer { session.end() }
    let backend = try factory.openForWorkload(directory)
    do {
      let callers = workload.callers
      try await workload.run(
        on: backend, after: workload.nothing, commits, isDurable: false,
        issue: { session.mark(.issued($1 * callers + $0)) },
        acknowledge: { _, _, position, durability in
          session.mark(durability == .power ? .acknowledged(position) : .returned)
        })
    } catch {
      try? await backend.close()
      throw error
    }
    try await backend.close()
    let entries = session.entries()
    var kinds: [Int: Set<EditKind>] = [:]
    for case .mark(let mark) in entries {
      guard case .issued(let commit) = CommitMark(mark) else { continue }
      kinds[commit] = try workload.kinds(
        of: commit / workload.callers, by: commit % workload.callers)
    }
    self.workload = workload
    record = PowerLoss(
      factory: factory, seed: seed, disk: SimulatedDisk(), entries: entries, states: [],
      kinds: kinds)
  }

  /// Opens images of some points, and checks each.
  ///
  /// - Parameter most: how many points are cut, beside those between the commits of a stream.
  func check(pointsAtMost most: Int, _ count: inout PowerLoss.Count) async throws {
    let points = record.cutPoints
    var random = SeededRandom(seed: record.seed)
    let chosen = Set(points.some(most, &random))
    let between =
      workload.callers == 1 ? points.betweenCommits(Self.mostBetween, &random) : []
    var disk = record.disk
    var bounds = CrashBounds(issued: workload.nothing)
    var last = 0
    for point in chosen.union(between).sorted() {
      for entry in record.entries[last..<point] {
        if case .mark(let number) = entry { note(number, &bounds) }
        _ = disk.play(entry)
      }
      last = point
      count.points += 1
      let all = DiskImage.some(at: point)
      // A cut that loses nothing is what a kill leaves, and kills fall between commits too.
      let images = chosen.contains(point) ? all : Array(all[1...2])
      for image in disk.isAllDurable ? Array(images.prefix(1)) : images {
        count.images += 1
        if points.housekeeping.contains(point) { count.ofHousekeeping += 1 }
        do {
          try await open(image, of: disk, bounds)
        } catch {
          let failure = error as? ConformanceFailure
          throw ConformanceFailure(
            failure?.anomaly ?? .refused,
            "\(failure?.message ?? "\(error)")\n\(workload.words) of seed "
              + "\(record.seed), power lost after \(point) of \(record.entries.count) operations, "
              + "the last one: \(record.entries[point - 1]), image \(image); no two "
              + "records are the same, so try more of them: CONIFER_CRASHES=2000",
            seed: record.seed)
        }
      }
    }
  }

  private func note(_ mark: Int, _ bounds: inout CrashBounds) {
    switch CommitMark(mark) {
    case .acknowledged(let position): bounds.acknowledged = max(bounds.acknowledged, position)
    case .issued(let commit):
      let (number, caller) = commit.quotientAndRemainder(dividingBy: workload.callers)
      bounds.issued[caller] = max(bounds.issued[caller], number)
    case .returned, nil: break
    }
  }

  /// Opens an image, lets each caller continue, and opens it once more.
  private func open(
    _ image: DiskImage, of disk: SimulatedDisk, _ bounds: CrashBounds
  ) async throws {
    let directory = try System.makeTemporaryDirectory(isFast: true)
    defer { System.removeTree(directory) }
    try disk.write(image, to: directory)
    let backend = try record.factory.openForWorkload(directory)
    let held: [Int]
    do {
      held = try workload.held(by: backend, bounds)
      try await workload.run(on: backend, after: held, 1, isDurable: true)
    } catch {
      try? await backend.close()
      throw error
    }
    try await backend.close()
    let again = try record.factory.openForWorkload(directory)
    do {
      let total = held.reduce(workload.callers, +)
      _ = try workload.held(
        by: again, CrashBounds(acknowledged: total, issued: held.map { $0 + 1 }))
    } catch {
      try? await again.close()
      throw error
    }
    try await again.close()
  }
}
