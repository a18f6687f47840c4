internal import ConiferKeyValue
internal import ConiferStorage
internal import Synchronization

extension BackendCheck {
  /// Streams with evictions, trainings and builds of indexes on a disk on which one operation fails.
  static let workloadFaults: [BackendCheck] = [
    BackendCheck(
      .faults, "an eviction, a dictionary or an index that meets a failing disk costs nothing"
    ) { fixture in
      let factory = fixture.factory
      var runs: [(any CrashWorkload, StorageFault)] = []
      if let nodes = NodeStream(factory) { runs += [(nodes, .io), (nodes, .sync)] }
      if !factory.isVariant, let documents = DocumentStream(factory) {
        runs += [(documents, .full), (documents, .sync)]
      }
      for (workload, fault) in runs {
        try await WorkloadFaults(fixture: fixture, workload: workload, fault: fault).run()
      }
    }
  ]
}

/// A workload until one of its operations fails, and what the store holds when it is opened again.
private struct WorkloadFaults {
  /// How many commits it makes, and how many operations fail in turn.
  private static let commits = 14
  private static let most = 4

  let fixture: BackendFixture
  let workload: any CrashWorkload
  let fault: StorageFault

  func run() async throws {
    let total = try await run(at: nil)
    guard total > 0 else { throw NotApplicable("makes no file calls that can be watched") }
    var chosen: Set<Int> = []
    if Variable.text("CONIFER_FAULTS") == "all" {
      chosen = Set(0..<total)
    } else {
      var random = SeededRandom(seed: try Variable.seed() ?? 1)
      let count = min(total, fixture.factory.share(of: Self.most))
      while chosen.count < count { chosen.insert(Int.random(in: 0..<total, using: &random)) }
    }
    for number in chosen.sorted() { _ = try await run(at: number) }
    CheckRecord.current?.count("injected faults", chosen.count)
  }

  /// - Returns: how many operations there were.
  private func run(at number: Int?) async throws -> Int {
    let directory = fixture.directory + "/" + (number.map { "\(fault)-\($0)" } ?? "\(fault)")
    try System.makeDirectory(directory)
    defer { System.removeTree(directory) }
    let session = try IOSession.fail(
      directory, at: number, with: fault.fault, counting: fault.counting)
    defer { session.end() }
    let bounds = Mutex(CrashBounds(issued: workload.nothing))
    do {
      let backend = try fixture.factory.openForWorkload(directory)
      do {
        try await workload.run(
          on: backend, after: workload.nothing, Self.commits, isDurable: false,
          issue: { caller, number in bounds.withLock { $0.issued[caller] = number } },
          acknowledge: { _, _, position, durability in
            if durability >= .process { bounds.withLock { $0.acknowledged = position } }
          })
      } catch {
        try? await backend.close()
        throw error
      }
      try await backend.close()
    } catch let error as StoreError {
      try require(session.failureCount > 0, .refused, "\(workload.words) failed with \(error)")
    }
    let count = session.operationCount
    session.stopFailing()
    do {
      try await requireHeld(directory, bounds.withLock { $0 })
    } catch {
      let found = error as? ConformanceFailure
      throw ConformanceFailure(
        found?.anomaly ?? .refused,
        "\(found?.message ?? "\(error)") after \(fault.rawValue) at operation \(number ?? -1) "
          + "(\(session.failure ?? "not reached")) of \(workload.words)")
    }
    return count
  }

  /// Opens the store on a sound disk, and lets the workload go on.
  private func requireHeld(_ directory: String, _ bounds: CrashBounds) async throws {
    let backend = try fixture.factory.openForWorkload(directory)
    do {
      let held = try workload.held(by: backend, bounds)
      try await workload.run(on: backend, after: held, 3, isDurable: true)
      let all = CrashBounds(
        acknowledged: held.reduce(0, +) + 3, issued: held.map { $0 + 3 })
      _ = try workload.held(by: backend, all)
    } catch {
      try? await backend.close()
      throw error
    }
    try await backend.close()
  }
}
