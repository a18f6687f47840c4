internal import ConiferKeyValue

/// One run of a check: names what broke, says how to see it again, and reports the result.
struct CheckRun {
  var factory: String
  /// The argument of `swift test --filter` that finds the factory's tests, if it is known.
  var tests: String?
  var tier: Int
  var group: String
  var check: String
  /// What a failure is that names no anomaly itself.
  var usual: Anomaly

  /// Runs the check and reports the result; of one that is a part of another, what it counted and
  /// that it does not apply are the other's.
  ///
  /// - Throws: ``ConformanceFailure`` when it failed; nothing when it turned out not to apply.
  func perform(_ body: () async throws -> Void) async throws {
    let result = await result(body)
    if let whole = CheckRecord.current {
      for (name, count) in result.counts { whole.count(name, count) }
      if result.outcome == .leftOut { throw LeftOut(result.reason ?? check) }
    } else {
      ReportFile.append(result)
    }
    guard result.outcome == .failed else { return }
    throw ConformanceFailure(
      result.anomaly ?? .broken, result.reason ?? check, seed: result.seed)
  }

  /// Runs the check when its turn comes; one that is a part of another runs in the other's turn.
  func result(_ body: () async throws -> Void) async -> CheckResult {
    if CheckRecord.current != nil { return await resultNow(body) }
    return await CheckGate.shared.pass {
      await withTaskExecutorPreference(CheckThreads.shared) { await resultNow(body) }
    }
  }

  private func resultNow(_ body: () async throws -> Void) async -> CheckResult {
    let record = CheckRecord()
    let begin = ContinuousClock.now
    var result = CheckResult(
      factory: factory, tier: tier, group: group, check: check, outcome: .passed)
    do {
      try await CheckRecord.$current.withValue(record) { try await body() }
    } catch let error as LeftOut {
      result.outcome = .leftOut
      result.reason = error.reason
    } catch {
      let named = named(error)
      result.outcome = .failed
      result.anomaly = named.anomaly
      result.reason = named.message
      result.seed = named.seed
    }
    result.counts = record.counts
    result.duration = ContinuousClock.now - begin
    return result
  }

  /// An error of a check as a finding with its anomaly, its seed and a command.
  private func named(_ error: any Error) -> ConformanceFailure {
    let failure = error as? ConformanceFailure
    var anomaly = failure?.anomaly ?? (error is StoreError ? .refused : .broken)
    if anomaly == .broken { anomaly = usual }
    let message =
      "\(factory): \(check): \(failure?.message ?? "\(error)")\n"
      + "To see it again: \(command(failure?.seed))"
    return ConformanceFailure(anomaly, message, seed: failure?.seed)
  }

  private func command(_ seed: UInt64?) -> String {
    (seed.map { "CONIFER_SEED=\($0) " } ?? "") + "CONIFER_CHECK=\"\(check)\" swift test"
      + (tests.map { " --filter \($0)" } ?? "")
  }
}
