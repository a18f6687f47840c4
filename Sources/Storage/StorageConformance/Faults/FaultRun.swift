internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// One run of the program on a disk on which one operation fails.
///
/// After each fault it checks what can still be read, whether the next commit succeeds, and after
/// reopening whether the contract allows the state.
final class FaultRun {
  let factory: BackendFactory
  let fault: StorageFault
  let directory: String
  let session: IOSession
  var backend: (any StorageBackend)?
  /// The trees of the program that are known to exist, by name.
  var trees: [String: TreeID] = [:]
  /// The state after all acknowledged commits.
  var model = StorageModel()
  /// States that are allowed after a process death: those before relaxed commits.
  var afterKill: [StorageModel] = []
  /// All earlier states, to tell a loss from other wrong data.
  var earlier: [StorageModel] = [StorageModel()]
  /// The state after a failed commit of which only reopening shows whether it took place.
  var uncertain: StorageModel?
  /// How many operations had failed when the store was opened.
  var failuresAtOpening = 0
  private var canaries: Int64 = 0

  /// - Parameter number: which operation fails, from 0; nil for none.
  init(
    _ factory: BackendFactory, _ fault: StorageFault, at number: Int?, _ directory: String
  ) throws {
    self.factory = factory
    self.fault = fault
    self.directory = directory
    session = try IOSession.fail(
      directory, at: number, with: fault.fault, counting: fault.counting)
  }

  deinit { session.end() }

  /// The first operations of hardening, suspending and closing, in a run on a sound disk.
  private(set) var promises: [Int] = []
  /// In how many slices housekeeping must come to its end: far more than a slow engine needs.
  private static let mostSlices = 1000
  /// How long a slice may take, so that housekeeping without an end is told in minutes.
  private static let slice = Duration.milliseconds(50)

  /// The tree of nodes.
  var tree: TreeID? { trees[FaultProgram.treeName] }

  /// How many operations failed so far.
  var failures: Int { session.failureCount }

  /// Whether a sync failed since the store was opened.
  var hasFailedSync: Bool { fault == .sync && failures > failuresAtOpening }

  /// Runs the program to its end, and opens the store once more on a sound disk.
  ///
  /// - Throws: `ConformanceFailure`.
  func run() async throws {
    do {
      try await open()
      for step in FaultProgram(factory.declared.strongest, factory.documents).steps {
        try await perform(step)
        earlier.append(model)
      }
      try await close()
      session.stopFailing()
      try await open()
      try await expectCommit("after reopening on a sound disk")
      try requireSame("at the end")
      try backend?.requireSound()
      try await close()
    } catch {
      session.stopFailing()
      try? await backend?.close()
      backend = nil
      throw error
    }
  }

  // MARK: Steps

  /// Does a step, and does it again when it failed and did not take place.
  private func perform(_ step: FaultProgram.Step) async throws {
    for _ in 0..<4 {
      let before = (failures: failures, operations: session.operationCount)
      if try await attempt(step, before.operations) {
        if failures > before.failures {
          try await afterSilentFault(step)
        }
        return
      }
    }
    throw ConformanceFailure(
      .refused, "\(step.words) is refused again and again, though one operation failed")
  }

  /// Tries a step; false when it is to be tried again.
  private func attempt(_ step: FaultProgram.Step, _ operations: Int) async throws -> Bool {
    let failed = failures
    var isEndless = false
    do throws(StoreError) {
      switch step {
      case .tree(let name, let order): try await makeTree(name, order)
      case .commit(let durability, let edits):
        guard let tree else { throw Self.noStore }
        try await commit(edits(tree), durability)
      case .documents(let durability, let changes):
        try await commit(try model.edits(changes, []), durability)
      case .harden:
        // All commits came before this.
        try await backend?.harden(CommitID(rawValue: .max))
        note(operations)
      case .tidy:
        var slices = 0
        while slices < Self.mostSlices, try await backend?.tidy(Self.slice) == true { slices += 1 }
        isEndless = slices == Self.mostSlices
      case .suspend, .reopen: break
      }
    } catch {
      return try await resolve(step, error)
    }
    try require(!isEndless, .hang, "tidying came to no end in \(Self.mostSlices) slices")
    if step.isDurable, fault == .sync, failures > failed {
      try require(
        session.operationCount - operations > failures - failed, .lostAcknowledged,
        "\(step.words) was acknowledged though its only sync failed")
    }
    switch step {
    case .suspend: try await suspend()
    case .reopen:
      try await close()
      try await open()
    default: break
    }
    return true
  }

  /// Notes the first operation of what has just made all commits durable, if there was one.
  func note(_ operation: Int) {
    if session.operationCount > operation { promises.append(operation) }
  }

  private func makeTree(_ name: String, _ order: KeyOrder) async throws(StoreError) {
    guard let backend else { throw Self.noStore }
    let id = try await backend.tree(named: name, order: order)
    trees[name] = try model.tree(named: name, order: order, id: id)
  }

  private func commit(_ edits: [StorageEdit], _ durability: Durability) async throws(StoreError) {
    guard let backend else { throw Self.noStore }
    let next = try after(edits)
    do throws(StoreError) {
      _ = try await backend.commit(edits, durability)
    } catch {
      uncertain = next
      throw error
    }
    acknowledge(next, durability)
  }

  private static var noStore: StoreError { StoreError(.closed, "The kit has no open store.") }

  /// The state after some edits of the newest one.
  private func after(_ edits: [StorageEdit]) throws(StoreError) -> StorageModel {
    var next = model
    _ = try next.commit(edits)
    return next
  }

  private func acknowledge(_ next: StorageModel, _ durability: Durability) {
    if durability > .relaxed { afterKill = [] } else { afterKill.append(model) }
    model = next
    uncertain = nil
  }

  // MARK: After a fault

  /// Checks the store after an error, and opens it again where it is poisoned.
  ///
  /// - Returns: whether the step took place.
  private func resolve(_ step: FaultProgram.Step, _ error: StoreError) async throws -> Bool {
    try require(
      failures > 0, .refused, "\(step.words) failed with \(error), and no operation had failed")
    var allowed: [StoreError.Code] = [.io, .poisoned]
    if case .harden = step {} else if fault.mayBeFull { allowed.append(.full) }
    // Other errors may follow from lost data; the loss itself is the better finding.
    if !allowed.contains(error.code) {
      try requireSame("when \(step.words) failed with \(error.code)")
    }
    try requireCode(error, allowed, step.words)
    if error.code == .full {
      // Nothing has changed, and the next attempt must succeed.
      uncertain = nil
      try requireSame("after \(step.words) was refused with full")
      if tree != nil, try await takesCommits(after: step) {
        try requireSame("after the commit behind \(step.words), which was refused with full")
      }
      return false
    }
    try requireSame("after \(step.words) failed with \(error.code)", mayBeNext: true)
    if try await takesCommits(after: step) {
      // A store that is not poisoned has undone the failed commit.
      uncertain = nil
      try requireSame("after the commit behind \(step.words), which had failed")
      return false
    }
    let next = uncertain
    try await close()
    try await open()
    guard let next else { return false }
    return try holds(next)
  }

  /// Checks the store after a fault that no call reported: acknowledged commits are there, and
  /// after a failed sync no later commit succeeds.
  private func afterSilentFault(_ step: FaultProgram.Step) async throws {
    guard tree != nil else { return }
    try requireSame("after \(step.words), in which an operation failed")
    guard try await !takesCommits(after: step) else { return }
    try await close()
    try await open()
  }

  /// Whether a commit succeeds now; otherwise the store must be poisoned.
  private func takesCommits(after step: FaultProgram.Step) async throws -> Bool {
    guard try await commitsNext(after: step) else {
      if hasFailedSync { try await expectPoison(after: step) }
      return false
    }
    // A thread of the engine may not have recorded its failure yet.
    var tries = factory.worksInBackground ? 500 : 0
    while hasFailedSync, tries > 0 {
      tries -= 1
      try await Task.sleep(for: .milliseconds(10))
      guard try await commitsNext(after: step) else { return false }
    }
    try require(
      !hasFailedSync, .successAfterFailedSync,
      "a commit succeeded after a sync failed in \(step.words)")
    return true
  }

  /// Requires that suspending and resuming does not make a poisoned store take commits.
  private func expectPoison(after step: FaultProgram.Step) async throws {
    guard let backend else { return }
    do throws(StoreError) {
      try await backend.suspend()
    } catch {
      try requireCode(error, [.io, .poisoned], "suspending a poisoned store")
    }
    do throws(StoreError) {
      try await backend.resume()
    } catch {
      return try requireCode(error, [.io, .poisoned], "resuming a poisoned store")
    }
    let goesOn = try await commitsNext(after: step)
    try require(
      !goesOn, .successAfterFailedSync,
      "a commit succeeded once the store was suspended and resumed, after a sync failed in "
        + step.words)
  }

  /// Whether a commit succeeds now.
  private func commitsNext(after step: FaultProgram.Step) async throws -> Bool {
    guard let backend else { return false }
    do throws(StoreError) {
      guard let tree else {
        try await makeTree(FaultProgram.treeName, .realtimeDatabase)
        return true
      }
      canaries += 1
      let edits: [StorageEdit] = [.overwrite(tree, "canary", Node(.integer(canaries)))]
      let next = try after(edits)
      _ = try await backend.commit(edits, min(.process, factory.declared.strongest))
      acknowledge(next, .process)
    } catch {
      let codes: [StoreError.Code] = fault == .death ? [.poisoned, .io] : [.poisoned]
      try requireCode(error, codes, "the commit after \(step.words), which met the fault,")
      return false
    }
    return true
  }
}
