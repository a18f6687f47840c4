internal import ConiferKeyValue

/// One run of a check: describes a failure, says how to reproduce it, and reports the result.
struct CheckRun {
  var factory: String
  /// The argument of `swift test --filter` that finds the factory's tests, if it is known.
  var tests: String?
  var tier: Int
  var group: String
  var check: String
  /// The anomaly of a failure that names none itself.
  var defaultAnomaly: Anomaly

  /// Runs the check and reports the result. When the check runs as a part of another check, the
  /// other check reports its counts, does not apply if this one does not, and is kept in part if this one is.
  ///
  /// - Throws: ``ConformanceFailure`` when it failed; nothing when it turned out not to apply.
  func perform(_ body: () async throws -> Void) async throws {
    let result = await result(body)
    if let whole = CheckRecord.current {
      for (name, count) in result.counts { whole.count(name, count) }
      if result.outcome == .leftOut { throw NotApplicable(result.reason ?? check) }
      if result.outcome == .partly { whole.exempts(result.reason ?? check) }
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
      if let exemption = record.exemption {
        result.outcome = .partly
        result.reason = exemption
      }
    } catch let error as NotApplicable {
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

  /// Converts a check's error to a failure with its anomaly, its seed and a command.
  private func named(_ error: any Error) -> ConformanceFailure {
    let failure = error as? ConformanceFailure
    var anomaly = failure?.anomaly ?? (error is StoreError ? .refused : .broken)
    if anomaly == .broken { anomaly = defaultAnomaly }
    let message =
      "\(factory): \(check): \(failure?.message ?? "\(error)")\n"
      + "To reproduce it: \(command(failure?.seed))"
    return ConformanceFailure(anomaly, message, seed: failure?.seed)
  }

  private func command(_ seed: UInt64?) -> String {
    (seed.map { "CONIFER_SEED=\($0) " } ?? "") + "CONIFER_CHECK=\"\(check)\" swift test"
      + (tests.map { " --filter \($0)" } ?? "")
  }
}
