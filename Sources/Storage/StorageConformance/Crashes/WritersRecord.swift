internal import ConiferKeyValue
internal import ConiferStorage

/// The file calls of ``Writers``, and the power cuts that can be made in them.
///
/// The writers interleave at random, so a seed does not reproduce a record: a failure names the
/// point in its own record.
struct WritersRecord: Sendable {
  private let writers: Writers
  private let record: PowerLoss

  /// Marks say what was issued (even) and how many commits were acknowledged (odd).
  private static func issued(_ writer: Int, _ number: Int) -> Int {
    2 * (number * Writers.count + writer)
  }
  private static func acknowledged(_ position: Int) -> Int { 2 * position + 1 }

  /// Runs writers in a new directory and records their file calls.
  init(_ factory: BackendFactory, seed: UInt64, commits: Int) async throws {
    let directory = try System.makeTemporaryDirectory(isFast: true)
    defer { System.removeTree(directory) }
    let session = try IOSession.record(directory)
    defer { session.end() }
    let writers = Writers(seed: seed, strongest: .power)
    let backend = try Self.open(factory, directory)
    do {
      try await writers.run(
        on: backend, after: [Int](repeating: 0, count: Writers.count), commits,
        issue: { session.mark(Self.issued($0, $1)) },
        acknowledge: { _, _, position, durability in
          if durability == .power { session.mark(Self.acknowledged(position)) }
        })
    } catch {
      try? await backend.close()
      throw error
    }
    try await backend.close()
    self.writers = writers
    record = PowerLoss(
      factory: factory, seed: seed, disk: SimulatedDisk(), entries: session.entries(), states: [])
  }

  private static func open(
    _ factory: BackendFactory, _ directory: String
  ) throws -> any StorageBackend {
    var options = factory.options
    options.budget = nil
    return try factory.open(directory, options)
  }

  /// Opens images of some points, and checks each.
  func check(pointsAtMost most: Int, _ count: inout PowerLoss.Count) async throws {
    var disk = record.disk
    var bounds = Writers.Bounds()
    var last = 0
    for point in record.points(atMost: most) {
      for entry in record.entries[last..<point] {
        if case .mark(let number) = entry { note(number, &bounds) }
        _ = disk.play(entry)
      }
      last = point
      count.points += 1
      let images = DiskImage.some(at: point)
      for image in disk.isSettled ? Array(images.prefix(1)) : images {
        count.images += 1
        do {
          try await open(image, of: disk, bounds)
        } catch {
          let failure = error as? ConformanceFailure
          throw ConformanceFailure(
            failure?.anomaly ?? .refused,
            "\(failure?.message ?? "\(error)")\n\(Writers.count) writers at once of seed "
              + "\(record.seed), power lost after \(point) of \(record.entries.count) operations, "
              + "the last one: \(record.entries[point - 1]), image \(image); writers interleave "
              + "at random, so try more of them: CONIFER_CRASHES=2000",
            seed: record.seed)
        }
      }
    }
  }

  private func note(_ mark: Int, _ bounds: inout Writers.Bounds) {
    if mark % 2 == 1 {
      bounds.acknowledged = max(bounds.acknowledged, mark / 2)
    } else {
      let writer = mark / 2 % Writers.count
      bounds.issued[writer] = max(bounds.issued[writer], mark / 2 / Writers.count)
    }
  }

  /// Opens an image, lets each writer continue, and opens it once more.
  private func open(
    _ image: DiskImage, of disk: SimulatedDisk, _ bounds: Writers.Bounds
  ) async throws {
    let directory = try System.makeTemporaryDirectory(isFast: true)
    defer { System.removeTree(directory) }
    try disk.write(image, to: directory)
    let backend = try Self.open(record.factory, directory)
    let held: [Int]
    do {
      held = try writers.held(by: backend, bounds)
      try await writers.run(on: backend, after: held, 1, isDurable: true)
    } catch {
      try? await backend.close()
      throw error
    }
    try await backend.close()
    let again = try Self.open(record.factory, directory)
    do {
      let total = held.reduce(Writers.count, +)
      _ = try writers.held(
        by: again, Writers.Bounds(acknowledged: total, issued: held.map { $0 + 1 }))
    } catch {
      try? await again.close()
      throw error
    }
    try await again.close()
  }
}
