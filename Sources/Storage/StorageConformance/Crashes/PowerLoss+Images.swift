internal import ConiferKeyValue
internal import ConiferStorage

extension PowerLoss {
  /// The crash before a recovery that is itself cut.
  enum Crash: String, Sendable {
    /// Power loss: the disk is the first image.
    case cut
    /// Process death: everything is visible, and nothing became more durable.
    case kill
  }

  /// Opens the images of some points, and checks each.
  ///
  /// - Parameter images: the images to try at a point.
  func check(
    _ points: [Int], _ verdict: CrashVerdict, _ before: String = "",
    _ images: (Int) -> [DiskImage], _ count: inout Count
  ) async throws {
    var disk = disk
    var last = 0
    var verdict = verdict
    for point in points {
      try requirePoint(point)
      verdict = cut(at: point, from: last, &disk, verdict)
      last = point
      count.points += 1
      for image in disk.isAllDurable ? Array(images(point).prefix(1)) : images(point) {
        count.images += 1
        try await placed(before + "\(Cut(seed: seed, point: point, image: image))", point) {
          _ = try await open(image, of: disk, verdict, takesCommits: true)
        }
      }
    }
  }

  /// Adds to a failure its place and the command that reproduces it.
  private func placed(
    _ name: String, _ point: Int, _ body: () async throws -> Void
  ) async throws {
    let operation = point > 0 ? "\(entries[point - 1])" : "nothing"
    let place =
      "seed \(seed), power lost after \(point) of \(entries.count) operations, the last one: "
      + "\(operation); CONIFER_CRASH=\(name) CONIFER_CHECK='power loss' repeats it"
    do {
      try await body()
    } catch let failure as ConformanceFailure {
      throw ConformanceFailure(failure.anomaly, "\(failure.message)\n\(place)")
    } catch {
      throw ConformanceFailure(.refused, "\(error)\n\(place)")
    }
  }

  /// Opens an image with the real backend.
  ///
  /// - Parameter takesCommits: whether it must keep one more commit when it is opened again.
  /// - Returns: the number of the store's state.
  func open(
    _ image: DiskImage, of disk: SimulatedDisk, _ verdict: CrashVerdict, takesCommits: Bool
  ) async throws -> Int {
    let directory = try System.makeTemporaryDirectory(isFast: true)
    defer { System.removeTree(directory) }
    try disk.write(image, to: directory)
    let backend = try openBackend(directory)
    let state: Int
    do {
      state = try verdict.state(of: backend)
    } catch {
      try? await backend.close()
      throw error
    }
    guard takesCommits else {
      try await backend.close()
      return state
    }
    var opened: (any StorageBackend)? = backend
    let run = try await CrashRun(
      CrashProgram(
        seed: seed, strongest: .power, isWhole: false, documents: factory.documents),
      after: Array(states[...state]),
      open: {
        defer { opened = nil }
        return try opened ?? openBackend(directory)
      })
    do {
      try await run.commitOnceMore()
    } catch {
      try? await run.close()
      throw error
    }
    try await run.close()
    let again = try openBackend(directory)
    do {
      let last = run.states.count - 1
      _ = try CrashVerdict(states: run.states, acknowledged: last, issued: last).state(of: again)
    } catch {
      try? await again.close()
      throw ConformanceFailure("after a commit on top of state \(state): \(error)")
    }
    try await again.close()
    return state
  }

  private func openBackend(_ directory: String) throws -> any StorageBackend {
    var options = factory.options
    options.budget = nil
    return try factory.open(directory, options)
  }

  /// Which cuts of a recovery are tried.
  enum Cuts: Sendable {
    /// A sample of all points, four images each.
    case some(Int)
    /// The point where its commit was acknowledged, with only what is durable.
    case acknowledged
    case one(Cut)
  }

  /// Cuts the recovery from an image, and a commit after it, at its operations.
  ///
  /// - Parameter point: the point of the first crash.
  func checkRecovery(
    at point: Int, _ image: DiskImage, after crash: Crash, _ cuts: Cuts, _ count: inout Count
  ) async throws {
    try requirePoint(point)
    var disk = disk
    let start = CrashVerdict(states: states, acknowledged: 0, issued: 0)
    let verdict = cut(at: point, from: 0, &disk, start)
    let name = "\(Cut(seed: seed, point: point, image: image))"
    var state = 0
    try await placed(name, point) {
      state = try await open(image, of: disk, verdict, takesCommits: false)
    }
    let directory = try System.makeTemporaryDirectory(isFast: true)
    defer { System.removeTree(directory) }
    try disk.write(image, to: directory)
    let held = crash == .kill ? disk.reopened() : try SimulatedDisk(holding: directory)
    let recovery = try await PowerLoss.record(
      factory, seed, in: directory, held, Array(states[...state]), nil)
    let second = CrashVerdict(
      states: recovery.states, acknowledged: min(verdict.acknowledged, state), issued: state)
    let points =
      switch cuts {
      case .some(let count): recovery.points(atMost: count)
      case .acknowledged: recovery.pointOfAcknowledgement.map { [$0] } ?? []
      case .one(let cut): [cut.point]
      }
    try await recovery.check(
      points, second, "\(name)+\(crash):",
      { point in
        switch cuts {
        case .some: DiskImage.some(at: point)
        case .acknowledged: [.durable]
        case .one(let cut): [cut.image]
        }
      }, &count)
  }
}
