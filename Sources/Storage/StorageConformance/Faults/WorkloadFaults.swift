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
      var faults = 0
      for (workload, fault) in runs {
        faults += try await WorkloadFaults(fixture: fixture, workload: workload, fault: fault).run()
      }
      try FaultChoice.requireReached(faults)
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

  /// - Returns: how many operations failed.
  func run() async throws -> Int {
    let total = try await run(at: nil).operations
    guard total > 0 else { throw NotApplicable("makes no file calls that can be watched") }
    let choice = try FaultChoice(sampling: fixture.factory.share(of: Self.most))
    var faults = 0
    for number in choice.numbers(of: total, first: 0) {
      faults += try await run(at: number).failures
    }
    return faults
  }

  /// - Returns: how many operations there were, and how many of them failed.
  private func run(at number: Int?) async throws -> (operations: Int, failures: Int) {
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
      try requireCaused(error, by: session)
    }
    let counts = (session.operationCount, session.failureCount)
    session.stopFailing()
    do {
      try await requireHeld(directory, bounds.withLock { $0 })
    } catch {
      let found = error as? ConformanceFailure
      throw ConformanceFailure(
        found?.anomaly ?? .refused,
        "\(found?.message ?? "\(error)") after \(fault.rawValue) at operation \(number ?? -1) "
          + "(\(session.failure ?? "not reached")) of \(workload.words)"
          + (number.map { "\nCONIFER_FAULTS=\($0) repeats it" } ?? ""))
    }
    return counts
  }

  /// Requires that an error follows from the operation that failed, and has a code for that.
  private func requireCaused(_ error: StoreError, by session: IOSession) throws {
    let cause = session.failure ?? "nothing"
    try require(session.failureCount > 0, .refused, "\(workload.words) failed with \(error)")
    let allowed: [StoreError.Code] = fault.mayBeFull ? [.io, .poisoned, .full] : [.io, .poisoned]
    try require(
      allowed.contains(error.code) && !error.message.isEmpty, .wrongError,
      "\(workload.words) failed with \(error) after \(fault.rawValue) (\(cause)), not with "
        + allowed.map(\.rawValue).joined(separator: " or "))
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
