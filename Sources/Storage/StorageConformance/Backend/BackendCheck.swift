internal import ConiferKeyValue
internal import ConiferStorage

/// One check of the backend contract, with the promise it is named by and the program that tests
/// it.
///
/// In Swift Testing: `@Test(arguments: BackendCheck.all(for: factory))` and then
/// `try await check.run(factory)`.
public struct BackendCheck: Sendable, CustomStringConvertible {
  /// The part of the backend contract that a check is about.
  public enum Group: String, Sendable, CaseIterable {
    /// Writes to a tree, and snapshots of it.
    case tree
    /// Removing cached data by a forest of markers, and pins.
    case prune
    /// Tracked queries and their keys.
    case queries
    /// Answers to queries, with indexes and without.
    case indexes
    /// The outbound queue.
    case queue
    /// Documents, waiting writes over them, and queries of them.
    case documents
    /// The size of records, and compression.
    case usage
    /// Dictionaries for compression, trained by tidying.
    case dictionaries
    /// Keeping a budget: what is evicted, in which order, what stays, and the reports about it.
    case eviction
    /// Atomicity, reopening, closing.
    case store
    /// Seeded random programs against the model.
    case programs
    /// The state after power loss.
    case powerLoss = "power loss"
    /// Failing and full disks.
    case faults
  }

  /// What it is about.
  public let group: Group
  /// The promise, as a sentence.
  public let name: String
  /// Which kind of promise is broken when the check fails and does not say so itself.
  public let anomaly: Anomaly
  let body: @Sendable (BackendFixture) async throws -> Void

  init(
    _ group: Group, _ name: String, _ anomaly: Anomaly = .broken,
    _ body: @escaping @Sendable (BackendFixture) async throws -> Void
  ) {
    self.group = group
    self.name = name
    self.anomaly = anomaly
    self.body = body
  }

  /// The group and the promise.
  public var description: String { "\(group.rawValue): \(name)" }

  /// Finds out whether a backend keeps the promise, in a new directory that is removed afterwards,
  /// and reports the result where `CONIFER_REPORT` asks for it.
  ///
  /// - Throws: `ConformanceFailure` when it does not.
  public func run(_ factory: BackendFactory) async throws {
    ReportFile.reportLeftOut("\(factory)", tier: 2) {
      Self.leftOut(for: factory) + ProcessCheck.leftOut(for: factory)
    }
    try await run(of: factory).perform { try await perform(factory) }
  }

  /// Runs the check and returns its result.
  func result(_ factory: BackendFactory) async -> CheckResult {
    await run(of: factory).result { try await perform(factory) }
  }

  private func run(of factory: BackendFactory) -> CheckRun {
    CheckRun(
      factory: "\(factory)", tests: factory.tests, tier: 2, group: group.rawValue, check: name,
      defaultAnomaly: anomaly)
  }

  private func perform(_ factory: BackendFactory) async throws {
    let fixture = try BackendFixture(factory)
    do {
      try await body(fixture)
      await fixture.finish()
    } catch {
      await fixture.finish()
      throw error
    }
  }

  /// The checks that apply to a backend: those about reopening need a persistent store, those about
  /// compression a compressing one.
  ///
  /// `CONIFER_CHECK` in the environment leaves only those whose description contains one of its phrases,
  /// which `|` separates; when no check of the kit has one, a check that fails.
  public static func all(for factory: BackendFactory) -> [BackendCheck] {
    if let unknown = Variable.unknownCheck {
      return [BackendCheck(.store, "CONIFER_CHECK names a check") { _ in throw unknown }]
    }
    return conditional.filter { $0.reason(factory) == nil }.flatMap(\.checks).filter {
      Variable.asksFor($0.description)
    }
  }

  /// The checks for every kind of factory.
  static var every: [BackendCheck] { conditional.flatMap(\.checks) }

  /// The checks that do not apply to a factory, with the reason.
  static func leftOut(for factory: BackendFactory) -> [CheckResult] {
    conditional.flatMap { group in
      guard let reason = group.reason(factory) else { return [CheckResult]() }
      return group.checks.map {
        CheckResult(
          factory: "\(factory)", tier: 2, group: $0.group.rawValue, check: $0.name,
          outcome: .leftOut, reason: reason)
      }
    }
  }

  /// Checks with the reason why they do not apply to a factory; nil when they do.
  private struct Conditional {
    let checks: [BackendCheck]
    var reason: (BackendFactory) -> String? = { _ in nil }
  }

  private static var conditional: [Conditional] {
    let always =
      treeWrites + priorities + keys + largeLeaves + slices + prunes + pins + queries + queue
      + windows + queueStates + queueWindows + queueKinds + usage + atomicity + lifecycle
      + concurrentCalls
      + restore
      + verifying + tampering + programs
    return [
      Conditional(checks: always),
      Conditional(checks: indexes + indexPrograms) {
        $0.options.encryption == nil ? nil : "keeps no indexes: their keys would show values"
      },
      Conditional(checks: documents + documentEdits + sizes + inequalities) {
        $0.keepsDocuments ? nil : "keeps no documents"
      },
      Conditional(checks: documentEvictions) {
        $0.keepsDocuments && $0.evicts ? nil : "keeps no documents within a budget"
      },
      Conditional(checks: evictions) { $0.evicts ? nil : "keeps no budget by itself" },
      Conditional(checks: withoutEviction) { $0.evicts ? "keeps a budget by itself" : nil },
      Conditional(checks: reopening) { $0.declared.isPersistent ? nil : "keeps nothing" },
      Conditional(checks: forgetting) { $0.declared.isPersistent ? "keeps its data" : nil },
      Conditional(checks: powerLosses) {
        $0.declared.isPersistent && $0.declared.strongest == .power
          ? IOSession.reason : "promises nothing about power loss"
      },
      Conditional(checks: nodePowerLosses) {
        guard $0.evicts else { return "keeps no budget by itself" }
        return $0.declared.isPersistent && $0.declared.strongest == .power
          ? IOSession.reason : "promises nothing about power loss"
      },
      Conditional(checks: documentPowerLosses) {
        guard $0.keepsDocuments && $0.evicts else { return "keeps no documents within a budget" }
        return $0.declared.isPersistent && $0.declared.strongest == .power
          ? IOSession.reason : "promises nothing about power loss"
      },
      Conditional(checks: faults()) {
        $0.declared.isPersistent ? IOSession.reason : "keeps nothing"
      },
      Conditional(checks: workloadFaults) {
        guard $0.evicts else { return "keeps no budget by itself" }
        return $0.declared.isPersistent ? IOSession.reason : "keeps nothing"
      },
      Conditional(checks: compression + dictionaries) {
        $0.options.compression == .none ? "does not compress" : nil
      },
    ]
  }
}
