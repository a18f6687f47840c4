internal import ConiferKeyValue
internal import Synchronization

/// The search for a check that sees a fault.
struct MutationSearch {
  let mutation: StoreMutation
  let factory: StoreFactory

  init(_ mutation: StoreMutation, _ factory: StoreFactory) {
    self.mutation = mutation
    self.factory = factory
  }

  /// The result of the first check that sees the fault: those that must see it come first.
  ///
  /// - Throws: ``ConformanceFailure`` when none does, or when it never happened.
  func catching() async throws -> CheckResult {
    if case .variable(let failure) = mutation.fault { throw failure }
    let site = MutationSite(mutation.fault, keeping: mutation.fault.keeps)
    let broken = factory.mutated(site)
    let all = StoreCheck.applying(to: broken)
    for name in mutation.checks where !StoreCheck.every.contains(where: { $0.name == name }) {
      throw ConformanceFailure("the kit has no check \"\(name)\"")
    }
    let first = mutation.checks.compactMap { name in all.first { $0.name == name } }
    let rest = all.filter { check in !mutation.checks.contains(check.name) }
    // The checks that must see it and turn out not to apply.
    var unasked: [CheckResult] = []
    for check in first + rest {
      let before = site.count
      let result = await StoreCheck.$shrinkingAttempts.withValue(0) { await check.result(broken) }
      if result.outcome == .leftOut { unasked.append(result) }
      guard result.outcome == .failed else {
        if !first.isEmpty, unasked.count == first.count, check.name == first.last?.name {
          throw NotApplicable(unasked[0].reason ?? check.name)
        }
        if check.name == first.last?.name, site.count == 0, let reason = mutation.fault.reason {
          throw NotApplicable(reason)
        }
        continue
      }
      let words = result.reason ?? check.name
      guard site.count > before else {
        throw ConformanceFailure(
          .neverHappened, "\"\(check.name)\" fails, and the fault did not happen: \(words)")
      }
      if let unbroken = await Self.failure(of: check, factory, mutation.fault.keeps) {
        throw ConformanceFailure("\"\(check.name)\" fails without the fault too: \(unbroken)")
      }
      CheckRecord.current?.count("times", site.count)
      try await requireSeenAgain(by: check, broken)
      return result
    }
    CheckRecord.current?.count("times", site.count)
    guard site.count > 0 else {
      throw ConformanceFailure(
        .neverHappened, "the fault never happened in \(all.count) checks, so it was not tried")
    }
    throw ConformanceFailure(
      .missed, "all \(all.count) checks pass, and the fault happened \(site.count) times")
  }

  /// The first of the seeds that a fault must be seen with too.
  private static let otherSeed: UInt64 = 1001

  /// Requires that a check which sees the fault does so with other seeds too, where all is asked for: one seed may
  /// show a fault by luck.
  private func requireSeenAgain(by check: StoreCheck, _ broken: StoreFactory) async throws {
    guard Variable.asksForAllMutations, StoreMutation.seeded.contains(check.name) else { return }
    let result = await StoreCheck.$firstSeed.withValue(Self.otherSeed) {
      await StoreCheck.$shrinkingAttempts.withValue(0) { await check.result(broken) }
    }
    guard result.outcome == .passed else { return }
    throw ConformanceFailure(
      .missed,
      "\"\(check.name)\" sees it with the first seeds, and not with those from \(Self.otherSeed) "
        + "on")
  }

  /// The failures of checks of unbroken stores, by the store and the check; empty for none.
  private static let unbroken = Mutex<[String: String]>([:])

  /// Why a check fails on the same store, in the same wrapper, without a fault; nil when it passes, or
  /// does not apply without the fault.
  private static func failure(
    of check: StoreCheck, _ factory: StoreFactory, _ keeps: MutationHistory.Kept
  ) async -> String? {
    guard StoreCheck.applying(to: factory).contains(where: { $0.name == check.name }) else {
      return nil
    }
    let name = "\(factory.name)\t\(keeps)\t\(check.name)"
    if let known = unbroken.withLock({ $0[name] }) { return known.isEmpty ? nil : known }
    let result = await check.result(factory.mutated(MutationSite(nil, keeping: keeps)))
    let failure = result.outcome == .failed ? result.reason ?? check.name : ""
    unbroken.withLock { $0[name] = failure }
    return failure.isEmpty ? nil : failure
  }
}
