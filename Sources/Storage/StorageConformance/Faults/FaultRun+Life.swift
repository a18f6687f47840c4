internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension FaultRun {
  /// Opens the store. A failed open must not prevent the next one.
  func open() async throws {
    for _ in 0..<2 {
      failuresAtOpening = failures
      var failure: StoreError?
      do throws(StoreError) {
        var options = factory.options
        options.budget = nil
        backend = try factory.open(directory, options)
      } catch {
        failure = error
      }
      guard let failure else { return try adopt() }
      try require(
        failures > failuresAtOpening, .refused,
        "opening failed with \(failure), and no operation failed in it")
      try requireCode(failure, fault.mayBeFull ? [.io, .full] : [.io], "opening")
      try await expectNothingHeld("after opening failed with \(failure.code)")
      if fault == .death { session.stopFailing() }
    }
    throw ConformanceFailure(.refused, "the store does not open after an open that failed")
  }

  /// Closes the store. Whatever `close` throws, it must release all files and locks.
  func close() async throws {
    guard let open = backend else { return }
    let (before, operations) = (failures, session.operationCount)
    var isOrderly = true
    do throws(StoreError) {
      try await open.close()
      note(operations)
    } catch {
      try require(failures > 0, .refused, "closing failed with \(error)")
      try requireCode(error, [.io, .poisoned], "closing")
      isOrderly = false
    }
    if isOrderly {
      try require(
        fault != .sync || failures == before, .successAfterFailedSync,
        "closing succeeded though a sync in it failed")
      afterKill = []
    }
    backend = nil
    try await expectNothingHeld("after closing")
    if fault == .death, failures > 0 { session.stopFailing() }
  }

  /// Suspends and resumes. A store whose suspension failed must have released its locks too.
  func suspend() async throws {
    guard let backend else { return }
    let (before, operations) = (failures, session.operationCount)
    var isOrderly = true
    do throws(StoreError) {
      try await backend.suspend()
      note(operations)
    } catch {
      try require(failures > 0, .refused, "suspending failed with \(error)")
      try requireCode(error, [.io, .poisoned], "suspending")
      isOrderly = false
    }
    if isOrderly {
      try require(
        fault != .sync || failures == before, .successAfterFailedSync,
        "suspending succeeded though a sync in it failed")
      afterKill = []
    }
    if let locks = System.lastingLocks(under: directory) {
      try require(locks.isEmpty, .leak, "locks are held while suspended: \(locks)")
    }
    for _ in 0..<2 {
      let before = failures
      do throws(StoreError) {
        try await backend.resume()
        return
      } catch {
        // A fault in `resume` came before the files were open, so earlier faults still count.
        failuresAtOpening += failures - before
        try require(failures > 0, .refused, "resuming failed with \(error)")
        try requireCode(error, fault.mayBeFull ? [.io, .full] : [.io], "resuming")
        if fault == .death { session.stopFailing() }
      }
    }
    throw ConformanceFailure(.refused, "the store cannot be resumed after that failed once")
  }

  /// Requires that a commit succeeds.
  func expectCommit(_ when: String) async throws {
    guard let tree, let backend else { return }
    let edits: [StorageEdit] = [.overwrite(tree, "end", 1)]
    do throws(StoreError) {
      _ = try await backend.commit(edits, factory.declared.strongest)
      _ = try model.commit(edits)
    } catch {
      throw ConformanceFailure(.refused, "a commit \(when) failed with \(error)")
    }
  }

  /// Requires an error with one of the codes and a message.
  func requireCode(_ error: StoreError, _ codes: [StoreError.Code], _ what: String) throws {
    try require(
      codes.contains(error.code), .wrongError,
      "\(what) failed with \(error), not with \(codes.map(\.rawValue).joined(separator: " or "))")
    try require(
      !error.message.isEmpty, .wrongError, "\(what) failed with \(error.code) and no message")
  }

  /// Requires that no file of the store is open and none is locked.
  func expectNothingHeld(_ when: String) async throws {
    var files = session.openDescriptors
    // The last owner of a descriptor may be a thread that is just ending.
    for _ in 0..<200 where !files.isEmpty {
      try? await Task.sleep(for: .milliseconds(2))
      files = session.openDescriptors
    }
    try require(files.isEmpty, .leak, "files are open \(when): \(files)")
    let locks = System.lastingLocks(under: directory) ?? []
    try require(locks.isEmpty, .leak, "locks are held \(when): \(locks)")
  }
}
