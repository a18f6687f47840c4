internal import ConiferKeyValue

/// A few calls of a store on a disk on which one operation fails: what the store itself says, which the layers above
/// may hide.
struct StoreFaults {
  /// Of so many operations some fail: the first ones, and others that the seed chooses.
  private static let most = 8

  let factory: StoreFactory

  let fault: StorageFault

  /// - Returns: how many operations failed.
  /// - Throws: ``ConformanceFailure``.
  func run() throws -> Int {
    let total = try run(at: nil).operations
    guard total > 0 else { throw NotApplicable("makes no file calls that can be watched") }
    var faults = 0
    for number in try FaultChoice(sampling: Self.most).numbers(of: total) {
      faults += try run(at: number).failures
    }
    return faults
  }

  /// Runs the calls with one operation failing, or none.
  ///
  /// - Returns: how many operations there were, and how many of them failed.
  private func run(at number: Int?) throws -> (operations: Int, failures: Int) {
    try Trial.runNow(factory) { trial in
      let session = try IOSession.fail(
        trial.directory, at: number, with: fault.fault, counting: fault.counting)
      defer { session.end() }
      var rows = Rows()
      do {
        try use(trial, session, &rows)
      } catch let failure as ConformanceFailure {
        throw ConformanceFailure(
          failure.anomaly,
          "\(failure.message), with \(fault.rawValue) at operation \(number ?? -1) "
            + "(\(session.failure ?? "not reached"))")
      }
      let counts = (session.operationCount, session.failureCount)
      session.stopFailing()
      let store = try trial.open()
      defer { try? store.close() }
      let found = Set(try store.reading { try $0.rows(.a).map(\.key) })
      for row in rows.acknowledged {
        try require(
          found.contains(key(row)), .lostAcknowledged,
          "row \(row) was acknowledged and is gone after \(fault.rawValue) at \(number ?? -1)")
      }
      return counts
    }
  }

  /// What was acknowledged, by number.
  private struct Rows {
    var acknowledged: [Int] = []
    var next = 0
  }

  /// Makes the calls, until one fails.
  private func use(_ trial: Trial, _ session: IOSession, _ rows: inout Rows) throws {
    guard let store = try told("opening", session, { try trial.open() }) else { return }
    defer { try? store.close() }
    let levels = Durability.allCases.filter { $0 >= .process && $0 <= trial.strongest }
    var isSound = true
    func call(_ what: String, _ body: () throws -> Void) throws {
      guard isSound else { return }
      isSound = try told(what, session, body) != nil
    }
    func put() throws {
      for level in levels {
        let row = rows.next
        rows.next += 1
        let value = value(row, row % 3 == 0 ? 20_000 : 100)
        try call("a commit at .\(level)") {
          try store.change(level) { $0.put(.a, key(row), value) }
          rows.acknowledged.append(row)
        }
      }
    }
    for _ in 0..<4 { try put() }
    try call("hardening") { try store.harden(CommitID(rawValue: .max)) }
    try put()
    try call("tidying") { _ = try store.tidy(.milliseconds(20)) }
    try put()
    try call("suspending") { try store.suspend() }
    try call("resuming") { try store.resume() }
    try put()
    var isPoisoned = false
    if !isSound {
      do throws(StoreError) {
        try store.apply(Batch(), .process)
      } catch {
        isPoisoned = error.code == .poisoned
      }
    }
    // It is closed whether it is sound or not.
    let isClosed = try told("closing", session) { try store.close() } != nil
    try require(
      !(isPoisoned && isClosed), .successAfterFailedSync, "closing a poisoned store succeeded")
  }

  /// Makes a call, which may fail only because an operation did, and must say so then.
  ///
  /// - Returns: nil when it failed.
  private func told<R>(_ what: String, _ session: IOSession, _ body: () throws -> R) throws -> R? {
    do {
      return try body()
    } catch let error as StoreError {
      try require(session.failureCount > 0, .refused, "\(what) failed with \(error)")
      try require(
        [.io, .poisoned].contains(error.code) && !error.message.isEmpty, .wrongError,
        "\(what) failed with \(error), not with io or poisoned")
      return nil
    }
  }
}
